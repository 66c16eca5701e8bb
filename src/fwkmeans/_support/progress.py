"""The log of the engine on the screen, for `verbose`."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

logger = logging.getLogger("fwkmeans")


def show_progress(verbose: int) -> contextlib.AbstractContextManager[None]:
    """Show the log while `verbose` is set: each batch of starts, or with 2 each iteration."""
    return _shown(verbose) if verbose else contextlib.nullcontext()


@contextlib.contextmanager
def _shown(verbose: int) -> Iterator[None]:
    level, handler = logger.level, logging.StreamHandler(sys.stdout)
    alone = not logger.hasHandlers()  # if logging is set up, the lines go there only
    logger.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    if alone:
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)

"""Packages that only some features need."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, what: str, extra: str) -> Any:
    """Import a module of an optional package, or raise a sentence that says how to get it.

    `what` needs it, in the plural; the extra `extra` of this package installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{what} need {package}, which is not installed: pip install 'fwkmeans[{extra}]'.",
            name=package,
        ) from error

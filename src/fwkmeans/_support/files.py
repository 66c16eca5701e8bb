"""Files that are written as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file to write into, and put it in the place of `path` once that went well.

    The file lies in the same folder, is empty and has the suffix of `path`. Whatever interrupts the
    writing, Ctrl-C included, it is removed, and what was at `path` before stays.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fwkmeans._support.files import replacing
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("hello")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {target.parent}; make it, or write to another one."
        )
    target = target.resolve()  # what a link points at is replaced, not the link
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent
        )
    except OSError as error:  # about the file that is wanted, not about one nobody knows
        raise type(error)(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(_permissions(target))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _permissions(target: Path) -> int:
    """Return the mode of the file that is replaced, or that of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

"""Files that are written as a whole or not at all, and pipes that are read like files."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fwkmeans._support.errors import InputError

#: Seconds after which a named pipe that nothing writes to is given up.
PATIENCE = 10.0
#: What the system says of a disk that takes no more, without the name of the file.
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading; the content of a pipe is read into memory, which can be read twice.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fwkmeans._support.files import open_bytes
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.txt"
    ...     _ = file.write_text("hello")
    ...     with open_bytes(file) as stream:
    ...         stream.read()
    b'hello'
    """
    stream = _open_pipe(path) if stat.S_ISFIFO(path.stat().st_mode) else path.open("rb")
    if stream.seekable():
        return stream
    with stream:
        return io.BytesIO(stream.read())


def _open_pipe(path: Path) -> BinaryIO:
    """Open a pipe, or raise if nothing writes to it: opening waits until somebody does."""
    opened: list[BinaryIO | OSError] = []

    def wait() -> None:
        try:
            opened.append(path.open("rb"))
        except OSError as error:
            opened.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    in_vain = thread.is_alive()
    if in_vain:  # end the waiting
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        thread.join()
    (found,) = opened
    if isinstance(found, OSError):
        raise found
    if in_vain:
        found.close()
        raise InputError(
            f"{path} is a pipe that nothing writes to (waited for {PATIENCE:g} s): start what "
            "writes the table first, or give a file."
        )
    return found


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
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL:
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise


def _permissions(target: Path) -> int:
    """Return the mode of the file that is replaced, or that of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

"""Files that are written as a whole or not at all, and pipes that are read like files."""

from __future__ import annotations

import contextlib
import errno
import glob
import importlib
import io
import os
import secrets
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from fwkmeans._support.errors import InputError

fcntl: Any = None
with contextlib.suppress(ImportError):  # not on Windows
    fcntl = importlib.import_module("fcntl")

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
    writing, Ctrl-C included, it is removed, and what was at `path` before stays. If the process was
    killed, the next one that writes to `path` removes it. A pipe or device at `path` is not
    replaced: what was written is sent to it.

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
    if target.exists() and not target.is_file():
        with _sent_to(target) as temporary:
            yield temporary
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {target.parent}; make it, or write to another one."
        )
    target = target.resolve()  # what a link points at is replaced, not the link
    _remove_stale(target)
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    try:
        handle, temporary = _new_file(target, mode)
    except OSError as error:  # about the file that is wanted, not about one nobody knows
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL:
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        if handle is not None:
            os.close(handle)


#: Between the name of a file and what makes that of its temporary file different from others.
_MARK = ".fwkmeans-"
#: Seconds after which a temporary file that nobody locks is left from a process that was killed.
_STALE = 60.0


def _new_file(target: Path, mode: int | None) -> tuple[int | None, Path]:
    """Return a new file beside another one, and what keeps it locked, if files can be locked.

    The system itself subtracts the mask of the process from the mode of a new file: to ask for the
    mask would change it for a moment, in all threads. What takes the place of a file that few may
    read is read by no others meanwhile.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    while True:
        name = f".{target.stem}{_MARK}{secrets.token_hex(4)}{target.suffix}"
        temporary = target.parent / name
        with contextlib.suppress(FileExistsError):
            handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
            break
    if fcntl is None:
        os.close(handle)
        return None, temporary
    with contextlib.suppress(OSError):  # some file systems have no locks
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle, temporary


def _remove_stale(target: Path) -> None:
    """Remove temporary files of a target whose processes were killed: their locks went with them.

    What cannot be locked may be in use, as may what was written to of late.
    """
    if fcntl is None:
        return
    pattern = f".{glob.escape(target.stem)}{_MARK}{'[0-9a-f]' * 8}{glob.escape(target.suffix)}"
    for left in target.parent.glob(pattern):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime < _STALE:
                continue
            handle = os.open(left, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(handle)


@contextlib.contextmanager
def _sent_to(pipe: Path) -> Iterator[Path]:
    """Give a temporary file to write into, and send what was written to a pipe or device."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / pipe.name
        temporary.touch()
        yield temporary
        handle = _open_for_reader(pipe)
        os.set_blocking(handle, True)
        try:
            with temporary.open("rb") as content, open(handle, "wb") as stream:
                shutil.copyfileobj(content, stream)
        except OSError as error:
            if error.errno in _FULL:
                raise type(error)(error.errno, error.strerror, str(pipe)) from None
            raise


def _open_for_reader(pipe: Path) -> int:
    """Open a pipe for writing, or raise if nothing reads from it: opening waits until that."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        if time.monotonic() > end:
            raise InputError(
                f"{pipe} is a pipe that nothing reads from (waited for {PATIENCE:g} s): start what "
                "reads it first, or give the name of a file."
            )
        time.sleep(0.05)

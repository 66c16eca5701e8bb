"""Files are written as a whole or not at all, and nothing else is changed by that."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time

import pytest

from fwkmeans._support import files
from fwkmeans._support.errors import InputError
from fwkmeans._support.files import replacing

posix = pytest.mark.skipif(os.name != "posix", reason="modes, locks and pipes of POSIX")


@posix
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_new_files_have_the_mode_of_the_process_and_old_ones_keep_theirs(mask, tmp_path):
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "new") as temporary:
            temporary.write_text("x")
        (tmp_path / "old").touch()
        (tmp_path / "old").chmod(0o640)
        with replacing(tmp_path / "old") as temporary:
            assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
            temporary.write_text("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o640


def test_the_mask_of_the_process_is_never_changed(tmp_path, monkeypatch):
    def changed(mask):
        raise AssertionError("files of other threads would have this mask")

    monkeypatch.setattr(os, "umask", changed)
    for _ in range(2):
        with replacing(tmp_path / "a") as temporary:
            temporary.write_text("x")


KILLED = """
import sys, time
from fwkmeans._support.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


@posix
def test_what_a_killed_process_has_left_is_removed(tmp_path):
    target = tmp_path / "a[1].csv"
    foreign = tmp_path / ".a[1].fwkmeans-mine.csv"
    foreign.touch()
    child = subprocess.Popen([sys.executable, "-c", KILLED, target], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    (left,) = set(tmp_path.iterdir()) - {foreign}
    os.utime(left, (0, 0))
    with replacing(target) as temporary:
        temporary.write_text("one")
        assert left.exists()  # it is locked: somebody still writes
    child.kill()
    child.wait()
    child.stdout.close()
    with replacing(target) as temporary:
        temporary.write_text("two")
    assert not left.exists()
    assert set(tmp_path.iterdir()) == {target, foreign}
    assert target.read_text() == "two"


@posix
def test_what_is_not_old_is_left_alone(tmp_path):
    recent = tmp_path / ".a.fwkmeans-0123abcd.csv"
    recent.touch()
    with replacing(tmp_path / "a.csv"):
        pass
    assert recent.exists()


@posix
def test_pipes_are_written_to(tmp_path):
    pipe, got = tmp_path / "p.csv", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as temporary:
        temporary.write_bytes(b"x" * 300_000)
    reader.join(10)
    assert got == [b"x" * 300_000]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@posix
def test_pipes_that_nobody_reads_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.2)
    os.mkfifo(tmp_path / "p.csv")
    begin = time.monotonic()
    with (
        pytest.raises(InputError, match=r"p\.csv is a pipe that nothing reads from"),
        replacing(tmp_path / "p.csv") as temporary,
    ):
        temporary.write_text("x")
    assert time.monotonic() - begin < 30


@posix
def test_devices_are_written_to():
    with replacing("/dev/null") as temporary:
        temporary.write_text("x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match="/dev/full"), replacing("/dev/full") as temporary:
        temporary.write_text("x")

"""Run pytest in forks of one process that has imported what takes long, but not the package.

One line of JSON in, ``{"arguments": [...], "limit": seconds}``; one line out,
``{"status": exit status, null if it took too long, "output": what was printed}``.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import tempfile
import time

SLOW = ("hypothesis", "numpy", "pandas", "scipy.stats", "sklearn.cluster", "pytest", "narwhals")


def in_a_fork(arguments: list[str], limit: float) -> dict[str, object]:
    """Run the tests in a child with a session of its own, which ends with all that it started."""
    with tempfile.TemporaryFile("w+") as log:
        child = os.fork()
        if child == 0:
            os.setsid()
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
            import pytest

            status = int(pytest.main(arguments))
            sys.stdout.flush()
            os._exit(status)
        status = waited(child, limit)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
        log.seek(0)
        return {"status": status, "output": log.read()}


def waited(child: int, limit: float) -> int | None:
    """Return the exit status of a child (minus the signal that ended it), None if it goes on."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    return None


if __name__ == "__main__":
    for name in SLOW:
        importlib.import_module(name)
    for line in sys.stdin:
        answer = in_a_fork(**json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

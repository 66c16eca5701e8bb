"""Random and damaged input for minutes: ``make fuzz``.

Each module beside this one named in FUZZERS has a function ``one_case(rng, folder)``: it makes one
case from the random numbers alone, tries it, and raises AssertionError with a sentence when the
package did something it must not. Files it needs it writes into ``folder``, which is empty for
each case. A case is known by its fuzzer and its seed; both are printed when it fails, and

    python tests/fuzz/run.py --only fits --seed 1234 --cases 1

tries it again.
"""

import argparse
import contextlib
import faulthandler
import importlib
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

if __name__ == "__main__":  # pytest does the same for the tests
    sys.path.insert(0, str(Path(__file__).parent.parent))

FUZZERS: tuple[str, ...] = ("fits", "models", "tables")
if hasattr(os, "fork"):
    FUZZERS += ("forks",)
SPAWN = multiprocessing.get_context("spawn")

#: A case that takes longer has failed.
MOST_SECONDS = 30


def fuzzer(name: str) -> Callable[[np.random.Generator, Path], None]:
    """Return the function that tries one case."""
    case: Callable[[np.random.Generator, Path], None]
    case = importlib.import_module(f"fuzz.{name}").one_case
    return case


def try_cases(name: str, first_seed: int, cases: int, seconds: float) -> tuple[int, int]:
    """Return how many of ``cases`` cases were tried within ``seconds`` and how many failed.

    They run in a process of their own, which may die in a case or not come back from it.
    """
    end = time.monotonic() + seconds
    tried = failed = 0
    while tried < cases and time.monotonic() < end:
        ours, theirs = SPAWN.Pipe(duplex=False)
        left = first_seed + tried, cases - tried, end - time.monotonic()
        child = SPAWN.Process(target=_try_here, args=(theirs, name, *left))
        child.start()
        theirs.close()
        running = None
        with contextlib.suppress(EOFError):  # it has ended
            while True:
                seed, wrong = ours.recv()
                running = seed if wrong is None else None
                if wrong is None:
                    tried += 1
                elif wrong:
                    failed += 1
                    print(f"\n{name}, seed {seed}:\n{wrong}", flush=True)
        child.join()
        if running is not None:
            failed += 1
            print(f"\n{name}, seed {running}: ended its process ({child.exitcode})", flush=True)
        elif child.exitcode:
            raise RuntimeError(f"The fuzzer {name} stopped between two cases.")
    return tried, failed


def _try_here(answer: Connection, name: str, seed: int, cases: int, seconds: float) -> None:
    """Try cases and send the seed of each: with None before it, and then with what was wrong."""
    one_case = fuzzer(name)
    end = time.monotonic() + seconds
    for own in range(seed, seed + cases):
        if time.monotonic() >= end:
            return
        answer.send((own, None))
        wrong = ""
        # this clock runs in compiled code, too, and prints where the case is
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
            try:
                one_case(np.random.default_rng(own), Path(folder))
            except KeyboardInterrupt:
                raise
            except BaseException:
                wrong = traceback.format_exc()
        faulthandler.cancel_dump_traceback_later()
        answer.send((own, wrong))


def main() -> None:
    """Try every fuzzer named on the command line for its share of the time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=FUZZERS, action="append", help="these fuzzers alone")
    parser.add_argument("--seed", type=int, help="the first seed (default: from the clock)")
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many of each")
    parser.add_argument("--seconds", type=float, default=240, help="in all (default: 240)")
    options = parser.parse_args()
    names = options.only or FUZZERS
    seed = time.time_ns() // 10**6 % 10**9 if options.seed is None else options.seed
    any_failed = False
    for name in names:
        print(f"{name}: seeds from {seed} …", end=" ", flush=True)
        tried, failed = try_cases(name, seed, options.cases, options.seconds / len(names))
        print(f"{tried} cases, {failed} failed", flush=True)
        any_failed |= failed > 0
    sys.exit(any_failed)


if __name__ == "__main__":
    main()

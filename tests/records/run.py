"""Whether fits are the same to the bit as those that were recorded: ``make records``.

Each case of ``cases.py`` is fitted, and every public attribute it leaves behind, and what
`predict`, `transform` and `score` say of the rows, is compared with a hash in ``records.txt``. What
changed is printed, by case and attribute. A change that is meant is recorded by

    python tests/records/run.py --write

and the message of its commit says what changed, and why.

What is the same everywhere, and what is not:

- The number of threads changes nothing. Cases that name several are fitted with each of them, and
  have one record.
- Baseline, v3 and v4 of x86-64 add up in different orders, so each has records of its own; those of
  another that are equal are not repeated. Multiplying whole numbers (vnni) or tiles (amx) only ever
  skips work, so both must give what v4 gives. All sets of instructions that the machine has are
  tried, each in a process of its own.
- Some cases go through BLAS, whose rounding depends on the machine and on its number of threads:
  AutoKMeans, SYNCLUS, CK-Means, scores of searches, tendency. Their floating-point numbers are
  recorded as a few sums, which need only be close; labels and texts must be the same.
- On other processors, or with another NumPy, the last digits of what is computed in Python may
  differ. The file says by what it was written. ``--write --source FOLDER`` records what the package
  in another folder does here: the ``src`` of an earlier commit, with the core that was built of it.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
if __name__ == "__main__":  # pytest does the same for the tests
    sys.path.insert(0, str(HERE.parent))

RECORDS = HERE / "records.txt"
#: By what each set of instructions is recorded.
RECORDED_BY = {
    "x86_64_v4": "x86_64_v4",
    "x86_64_vnni": "x86_64_v4",
    "x86_64_amx": "x86_64_v4",
    "x86_64_v3": "x86_64_v3",
    "baseline": "baseline",
}
#: How close numbers must be that went through BLAS.
CLOSE = 1e-6
_DIGITS = 7  # of a hash

#: Of each set of instructions, each case, each attribute: a hash, or sums of numbers.
Records = dict[str, dict[str, dict[str, str]]]


# ---- hashes -------------------------------------------------------------------------------------


def _leaves(value: Any) -> Iterable[tuple[str, Any]]:
    """Yield what a value consists of: pairs of what it is and an array or a text."""
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield "key", str(key)
            yield from _leaves(value[key])
    elif isinstance(value, list | tuple):
        yield "length", str(len(value))
        for item in value:
            yield from _leaves(item)
    elif value is None or isinstance(value, str | bool):
        yield "text", repr(value)
    elif isinstance(value, int | float | np.ndarray | np.generic):
        array = np.ma.filled(value, 0) if isinstance(value, np.ma.MaskedArray) else value
        array = np.asarray(array)
        if array.dtype.kind == "O":
            yield from _leaves(array.tolist())
        else:
            yield f"{array.dtype.str}{array.shape}", array
    elif hasattr(value, "_asdict"):
        yield from _leaves(value._asdict())
    elif hasattr(value, "__dict__"):
        yield "class", type(value).__name__
        yield from _leaves({k: v for k, v in vars(value).items() if not k.startswith("_")})
    else:
        raise TypeError(f"no hash of {type(value).__name__} is known: {value!r}")


def record_of(value: Any, *, close: bool = False) -> str:
    """Return the hash of a value; if it need only be close, with sums of its numbers."""
    found, sums = hashlib.sha256(), []
    for kind, leaf in _leaves(value):
        found.update(kind.encode())
        if isinstance(leaf, str):
            found.update(leaf.encode())
        elif close and leaf.dtype.kind == "f":
            some = leaf[np.isfinite(leaf)].astype(np.float64)
            sums.append((float(some.sum()), float(np.abs(some).sum())))
        else:
            found.update(np.ascontiguousarray(leaf).tobytes())
    known = found.hexdigest()[:_DIGITS]
    if not sums:
        return known
    total, size = (float(sum(each)) for each in zip(*sums, strict=True))
    return f"{known}~{total:.9g}~{size:.9g}"


def same(before: str, after: str) -> bool:
    """Tell whether two records say the same."""
    if before == after or "~" not in before:
        return before == after
    (known, *numbers), (other, *others) = before.split("~"), after.split("~")
    largest = max(abs(float(each)) for each in (*numbers, *others[-1:]))
    near = (
        abs(float(a) - float(b)) <= CLOSE * largest for a, b in zip(numbers, others, strict=False)
    )
    return known == other and len(numbers) == len(others) and all(near)


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return which attributes differ, came, or went."""
    changed = [name for name in before if name in after and not same(before[name], after[name])]
    came = [f"+{name}" for name in after if name not in before]
    gone = [f"-{name}" for name in before if name not in after]
    return changed + came + gone


# ---- fits ---------------------------------------------------------------------------------------


def record_cases(which: str, source: Path | None) -> dict[str, Any]:
    """Fit some cases here: every n-th from the first, as in ``0/2``; return what is recorded."""
    if source is not None:  # before the package that is installed in editable mode
        sys.path.insert(0, str(source))
        sys.meta_path[:] = [f for f in sys.meta_path if "Redirect" not in type(f).__name__]
    from fwkmeans._core import compiled
    from records.cases import all_cases

    first, step = (int(part) for part in which.split("/"))
    found: dict[str, dict[str, str]] = {}
    wrong = []
    for case in all_cases()[first::step]:
        for n_threads in case.threads:
            try:
                values = case.make(n_threads)
                made = {at: record_of(value, close=case.close) for at, value in values.items()}
            except Exception as error:
                made = {"error": record_of(f"{type(error).__name__}: {error}")}
                wrong.append(f"{case.name}: {type(error).__name__}: {error}")
            other = differences(found.setdefault(case.name, made), made)
            if other:
                threads = f"{case.threads[0]} and {n_threads} threads"
                wrong.append(f"{case.name}: {', '.join(other)} differ between {threads}")
    return {"used": compiled.instruction_set(), "found": found, "wrong": wrong}


def record(names: Iterable[str], source: Path | None = None) -> tuple[Records, list[str]]:
    """Return the records of each set of instructions that this machine has, and what is wrong."""
    runs = [(name, f"{part}/2") for name in names for part in range(2)]
    records: Records = {}
    wrong: list[str] = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda run: _in_own_process(*run, source), runs)
        for (name, _), found in zip(runs, results, strict=True):
            if found["used"] == name:
                records.setdefault(name, {}).update(found["found"])
                wrong += [f"{name}: {each}" for each in found["wrong"]]
    return records, wrong


def _in_own_process(name: str, which: str, source: Path | None) -> Any:
    environment = {**os.environ, "FWKMEANS_ISA": name, "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.NamedTemporaryFile("r", suffix=".json") as answer:
        command = [sys.executable, str(HERE / "run.py"), "--part", which, "--answer", answer.name]
        command += [] if source is None else ["--source", str(source)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        return json.load(answer)


# ---- the file -----------------------------------------------------------------------------------


def shared(records: Records) -> tuple[Records, list[str]]:
    """Return one record of those that must be equal, and which are not."""
    by: Records = {}
    wrong = []
    for name, cases in records.items():
        first = by.setdefault(RECORDED_BY[name], cases)
        for case, found in cases.items():
            other = differences(first[case], found)
            if other:
                wrong.append(f"{case}: {', '.join(other)} differ between v4 and {name}")
    return by, wrong


def as_text(records: Records) -> str:
    """Return the file: cases by set of instructions, below lines with names of attributes."""
    lines = [
        "# Hashes of fits, made by tests/records/run.py --write, which says what they mean.",
        f"# NumPy {np.__version__}, {_processor()}",
    ]
    first = next(iter(records.values()), {})
    names: list[str] = []
    for level, cases in records.items():
        new = {
            case: found if cases is first else _without_known(found, first.get(case, {}))
            for case, found in cases.items()
        }
        n_new = sum(map(bool, new.values()))
        differ = "" if cases is first else f" of {len(new)}, the others are the same"
        lines.append(f"= {level}: {n_new} cases{differ}")
        for case, known in new.items():
            if not known:
                continue
            if list(known) != names:
                names = list(known)
                lines.append(f"> {' '.join(names)}")
            lines.append(f"{case}: {' '.join(known.values())}")
    return "\n".join(lines) + "\n"


def _without_known(found: Mapping[str, str], first: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in found.items() if first.get(name) != value}


def from_text(text: str) -> Records:
    """Return the records of a file."""
    records: Records = {}
    cases: dict[str, dict[str, str]] = {}
    names: list[str] = []
    for line in text.splitlines():
        if line.startswith("="):
            first = next(iter(records.values()), {})
            cases = records[line[2:].split(":")[0]] = {
                case: dict(found) for case, found in first.items()
            }
        elif line.startswith(">"):
            names = line[2:].split()
        elif line and not line.startswith("#"):
            case, _, values = line.rpartition(": ")
            cases.setdefault(case, {}).update(zip(names, values.split(), strict=True))
    return records


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown processor"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown processor")


def compare(before: Records, after: Records) -> list[str]:
    """Return a line for each case that changed: which attributes, by which sets of instructions."""
    lines: dict[str, list[str]] = {}
    for level, cases in after.items():
        if level not in before:
            lines.setdefault(f"nothing is recorded for {level}; use --write", []).append(level)
            continue
        known = before[level]
        for case in sorted({*cases, *known}):
            if case not in known or case not in cases:
                what = f"{case}: {'new' if case in cases else 'gone'}"
            else:
                what = f"{case}: {' '.join(differences(known[case], cases[case]))}"
                if what.endswith(": "):
                    continue
            lines.setdefault(what, []).append(level)
    return [f"{what} ({', '.join(levels)})" for what, levels in lines.items()]


def main() -> int:
    """Check the records, or write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="record what is found")
    parser.add_argument("--quick", action="store_true", help="try the best instructions only")
    parser.add_argument("--source", type=Path, help="a folder with the package to try")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        options.answer.write_text(json.dumps(record_cases(options.part, options.source)))
        return 0
    from fwkmeans._core import compiled

    best = compiled.instruction_set()
    if best not in RECORDED_BY:
        print(f"There are no records for {best}.")
        return 1
    names = [best] if options.quick else list(RECORDED_BY)
    found, wrong = record(names, options.source)
    after, unequal = shared(found)
    wrong += unequal
    n_cases = max(map(len, after.values()))
    changed: list[str] = []
    if options.write:
        before = from_text(RECORDS.read_text()) if RECORDS.exists() else {}
        RECORDS.write_text(as_text({**before, **after}))
        print(f"{n_cases} cases recorded for {', '.join(found)}.")
    else:
        changed = compare(from_text(RECORDS.read_text()), after)
        print(
            "\n".join([*changed, f"{len(changed)} of {n_cases} cases changed; {', '.join(found)}."])
        )
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong or changed else 0


if __name__ == "__main__":
    sys.exit(main())

"""How settings are named in sentences: as options of the command, or as parameters in Python."""

from __future__ import annotations

import re
from collections.abc import Callable

from fwkmeans._support.text import quoted

#: Returns how to give a setting with values, if there are any.
Wording = Callable[..., str]

#: Parameters in Python whose options are called otherwise.
_PARAMETERS = {"id": "keys", "na": "missing"}

#: What a shell takes as it is.
_PLAIN = re.compile(r"[\w.,:+-]+", re.ASCII)


def on_command_line(setting: str, *values: str) -> str:
    """Return an option of the command line.

    Examples
    --------
    >>> on_command_line("drop", "a", "b c"), on_command_line("coerce")
    ("--drop 'a,b c'", '--coerce')
    """
    if not values:
        return f"--{setting}"
    columns = setting not in ("na", "decimal", "dates")
    text = ",".join(f'"{one}"' if columns and "," in one else one for one in values)
    return f"--{setting} {text}" if _PLAIN.fullmatch(text) else f"--{setting} '{text}'"


def in_python(setting: str, *values: str) -> str:
    """Return a parameter of Python.

    Examples
    --------
    >>> in_python("drop", "a", "b c"), in_python("dates", "age"), in_python("coerce")
    ("drop=['a', 'b c']", "dates='age'", 'coerce=True')
    """
    name = _PARAMETERS.get(setting, setting)
    if not values:
        return f"{name}=True" if setting == "coerce" else name
    if setting in ("dates", "labels"):
        return f"{name}={values[0]!r}"
    return f"{name}=[{quoted(values, len(values))}]"

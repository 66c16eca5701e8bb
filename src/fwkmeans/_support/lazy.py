"""Packages whose modules are imported when they are first used: programs start faster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(
    package: str, modules: Mapping[str, str], tables: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    modules : mapping of str to str
        The module of each name.
    tables : mapping of str to mapping, default=None
        Dictionaries of the package, whose values are given as names: all of these are imported
        when such a dictionary is first used.
    """
    tables = tables or {}

    def get(name: str) -> Any:
        if name in tables:
            here = sys.modules[package]
            found: Any = {title: getattr(here, each) for title, each in tables[name].items()}
        elif name in modules:
            found = getattr(import_module(f"{package}.{modules[name]}"), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)  # found at once from now on
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules, *tables})

    return get, names

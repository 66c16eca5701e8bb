"""Errors that say what is wrong, and which setting could help."""

from __future__ import annotations


class InputError(ValueError):
    """Something is wrong with what the user gave.

    Parameters
    ----------
    text : str
        What is wrong, and what to do, in a sentence.
    setting : str or None, default=None
        The field of `fwkmeans._tabular.reading.Format` that could help. Whoever asked for the table
        knows how a user gives it.
    value : str or None, default=None
        The value it should have, if that is known.
    """

    def __init__(self, text: str, *, setting: str | None = None, value: str | None = None) -> None:
        super().__init__(text)
        self.setting = setting
        self.value = value

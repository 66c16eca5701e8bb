"""Random numbers of each start, which do not depend on the batch it runs in."""

from __future__ import annotations

import functools
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fwkmeans.typing import FloatArray


def _draw_words(random_state: Any) -> tuple[int, ...]:
    return tuple(check_random_state(random_state).randint(0, 2**31 - 1, size=4).tolist())


#: Small fits with the same seed would spend a tenth of their time on making NumPy's generators.
_words_of = functools.lru_cache(maxsize=256)(_draw_words)


@functools.lru_cache(maxsize=256)
def _sequence_of(words: tuple[int, ...], purpose: str) -> np.random.SeedSequence:
    return np.random.SeedSequence([*words, *purpose.encode()])  # never spawns, so it never changes


class Seeds:
    """Random numbers that depend only on the random state, the purpose and the index of the start.

    There is one stream per purpose, and each start reads it at its own place: start s uses n draws
    from ``s * n`` on. One generator serves a whole batch, and batches do not affect each other.
    """

    def __init__(self, random_state: Any) -> None:
        self._random_state = random_state
        self._words: tuple[int, ...] | None = None  # drawn when they are needed
        if isinstance(random_state, np.random.RandomState):  # such a generator always moves on
            self._words = _draw_words(random_state)

    def uniform(self, purpose: str, starts: range, n: int) -> FloatArray:
        """Return n numbers in [0, 1) for each of the starts: (R, n)."""
        stream = np.random.PCG64(self._sequence(purpose)).advance(int(starts.start) * int(n))
        return np.random.Generator(stream).random((len(starts), int(n)))

    def integers(self, purpose: str, starts: range) -> list[int]:
        """Return a seed for each of the starts."""
        return [int(u * 2**31) for u in self.uniform(purpose, starts, 1)[:, 0]]

    def common(self, purpose: str) -> np.random.Generator:
        """Return a generator for draws that all starts share."""
        return np.random.Generator(np.random.PCG64(self._sequence(purpose)))

    def _sequence(self, purpose: str) -> np.random.SeedSequence:
        if self._words is None:
            whole = isinstance(self._random_state, Integral)
            draw = _words_of if whole else _draw_words
            self._words = draw(int(self._random_state) if whole else self._random_state)
        return _sequence_of(self._words, purpose)

"""One stream of random numbers for each start, whatever batch it runs in."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


class Seeds:
    """Streams that depend only on the random state and the number of the start."""

    def __init__(self, random_state: Any) -> None:
        draw = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
        self._entropy = [int(word) for word in draw]

    def of_start(self, start: int, purpose: int = 0) -> np.random.Generator:
        """Return a stream of one start: 0 for centers, 1 for weights."""
        key = np.random.SeedSequence(self._entropy, spawn_key=(start, purpose))
        return np.random.Generator(np.random.PCG64(key))

    def common(self) -> np.random.Generator:
        """Return the stream for what all starts share."""
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self._entropy)))

"""A few cases of each fuzzer, always the same ones; ``make fuzz`` tries others for minutes."""

import numpy as np
import pytest

from fuzz import run


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", run.FUZZERS)
def test_a_few_cases_of_every_fuzzer(name, seed, tmp_path):
    run.fuzzer(name)(np.random.default_rng(seed), tmp_path)

"""Arrays from slabs are their own until they are gone; then others may have their memory."""

import pickle

import numpy as np
import pytest

from fwkmeans._support import slabs
from fwkmeans._support.slabs import new_array, release_slabs

LARGE = (1, 50_000)  # of float32: cut from a slab


@pytest.fixture(autouse=True)
def _released():
    yield
    release_slabs()


def test_arrays_do_not_overlap():
    arrays = [new_array((2, 20_001 + 7 * at), np.float32) for at in range(300)]  # several slabs
    for at, array in enumerate(arrays):
        array[...] = at
        assert array.flags.aligned
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert [float(array.mean()) for array in arrays] == list(range(300))
    assert pickle.loads(pickle.dumps(arrays[7])).tobytes() == arrays[7].tobytes()


def test_memory_is_used_again_only_when_all_its_arrays_are_gone():
    kept = new_array(LARGE, np.int32)
    kept[...] = 5
    view = kept[:, 3:9]
    del kept
    for at in range(400):
        new_array(LARGE, np.int32)[...] = at
    np.testing.assert_array_equal(view, 5)
    assert len(slabs._free) <= 2  # 400 arrays of 200 kB came from few slabs


def test_released_slabs_are_not_kept():
    arrays = [new_array(LARGE, np.float32) for _ in range(200)]
    release_slabs()
    del arrays
    assert not slabs._free


@pytest.mark.parametrize("shape", [(0, 5), (1, 10), (3, 5_000_000)])
def test_small_and_huge_arrays_are_ordinary(shape):
    array = new_array(shape, np.float32)
    assert array.shape == shape
    assert array.base is None

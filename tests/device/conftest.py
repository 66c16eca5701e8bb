"""Without a GPU the kernels run in Triton's interpreter, which must be chosen before its import."""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest

HAS_TORCH = importlib.util.find_spec("torch") and importlib.util.find_spec("triton")
if HAS_TORCH and "triton" not in sys.modules:
    import torch

    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture(scope="session")
def where() -> str:
    """Return the device on which the kernels are tested."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    return "cuda" if torch.cuda.is_available() else "cpu"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let cells overflow: they do so on a device, too, and NumPy warns in the interpreter."""
    ignored = "ignore:(overflow|invalid value) encountered:RuntimeWarning"
    for item in items:
        if "device" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings(ignored))

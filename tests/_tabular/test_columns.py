"""What is said of columns that are no numbers."""

from __future__ import annotations

import pytest

from fwkmeans import KMeans

pd = pytest.importorskip("pandas")


def test_columns_that_are_no_numbers_are_named_with_what_to_do():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(ValueError, match=r"column 'b' of X \(String\).*TableEncoder, or drop"):
        KMeans(2).fit(frame)
    frame["b"] = pd.to_datetime(["2024-01-01", "2024-02-01"])
    with pytest.raises(ValueError, match=r"column 'b' of X \(Datetime\).*convert dates to num"):
        KMeans(2).fit(frame)

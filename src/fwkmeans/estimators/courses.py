"""How starts race: on how many rows, and which of them go on; see `fwkmeans.estimators.racing`."""

from __future__ import annotations

from typing import Any, NamedTuple

from fwkmeans.estimators.starts import draws_nothing


class Course(NamedTuple):
    """How a race goes."""

    n_starts: int  # on the first sample
    iterations: int  # on each sample
    n_finalists: int  # starts that go on to all rows
    final_iterations: int | None  # after which only one goes on; None: all go on to the end
    far: bool  # whether samples have rows that are far from others, which takes a pass
    sizes: tuple[int, ...] = ()  # rows of the samples, rising


#: Rows below which a table is a small one.
SMALL = 5000
ON_SMALL, ON_LARGE = Course(10, 4, 3, None, False), Course(20, 10, 3, 5, True)
#: Rows of the first sample: so many, or so many for each cluster, or this part of the table.
FIRST_ROWS, FIRST_ROWS_EACH, FIRST_PART = 1000, 100, 3
#: With fewer rows than these, or than so many for each cluster, there is no race.
LEAST_ROWS, LEAST_ROWS_EACH = 300, 30
#: Rows of a table below which there is no race, whatever the number of clusters.
FEWEST_ROWS = FIRST_PART * LEAST_ROWS
#: Rows far from others that are in all samples, as a part of the first one.
FAR_PART = 4
#: How many times as many rows the next sample has, how many starts go on to it, and how many
#: times as many rows there must be in all.
GROWTH, KEPT, LEAST_TIMES = 8, 5, 16


def sizes_of_samples(n_rows: int, n_clusters: int) -> list[int]:
    """Return the number of rows of each sample, rising; none if there is no race."""
    size = min(max(FIRST_ROWS, FIRST_ROWS_EACH * n_clusters), n_rows // FIRST_PART)
    if size < max(LEAST_ROWS, LEAST_ROWS_EACH * n_clusters):
        return []
    found = [size]
    while LEAST_TIMES * GROWTH * found[-1] <= n_rows:
        found.append(GROWTH * found[-1])
    return found


def course_of(estimator: Any, n_rows: int) -> Course | None:
    """Return how the starts of a table with so many rows race; None if they do not."""
    if not isinstance(estimator.n_init, str) or draws_nothing(estimator):
        return None
    if estimator.n_clusters is None:
        return None
    sizes = sizes_of_samples(n_rows, int(estimator.n_clusters))
    course = ON_SMALL if n_rows < SMALL else ON_LARGE
    return course._replace(sizes=tuple(sizes)) if sizes else None

"""What the functions of this folder need of an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from fwkmeans._engine import Recipe, Run
from fwkmeans._init import Seeds
from fwkmeans._tabular.coding import Coding
from fwkmeans.typing import (
    Assignment,
    Description,
    FloatArray,
    IntArray,
    LabelArray,
    Source,
    WeightRuleProtocol,
    Weights,
)

if TYPE_CHECKING:
    from fwkmeans._engine.stream import Stream
    from fwkmeans.estimators.inputs import Input
    from fwkmeans.estimators.plan import Plan

__all__ = ["Model", "OfTable", "Reader"]


class Reader(Protocol):
    """Whoever opens tables: an estimator, or `group_features`."""

    n_jobs: int | None
    n_features_in_: int
    # of those that take categories, see `_takes_categories`
    categorical_features: Any
    missing_category: str
    handle_unknown: str
    _coding: Coding | None
    _runs_on_device: bool

    @property
    def _names(self) -> Any: ...
    @property
    def _missing(self) -> str: ...
    @property
    def _takes_categories(self) -> bool: ...
    def _why_not_sparse(self) -> str | None: ...


class Model(Reader, Protocol):
    """An estimator that is fitted by starts of the loop: what its route needs."""

    n_clusters: int | None
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    verbose: int
    random_state: Any

    labels_: LabelArray
    cluster_centers_: FloatArray
    feature_weights_: FloatArray
    inertia_: float
    n_iter_: int
    converged_: bool
    n_clusters_: int
    n_steps_: int
    objective_history_: FloatArray
    category_frequencies_: Any
    modes_: Any
    groups_: Mapping[Any, IntArray]  # of those that weigh groups
    group_weights_: FloatArray
    _parts: Recipe
    _table: Description
    _memory: Mapping[str, FloatArray]
    _frequencies: FloatArray
    _stream: Stream
    _unit_spaces: Sequence[IntArray]
    _shown_of_rule: ClassVar[Mapping[str, str]]
    _found_groups: IntArray

    @property
    def _weight_init(self) -> Any: ...
    @property
    def _columns(self) -> Sequence[Any]: ...
    @property
    def _smallest_pattern(self) -> float: ...
    @property
    def _may_find_fewer(self) -> bool: ...
    def _check_parameters(self) -> None: ...
    def _opened(self, X: Any, sample_weight: Any, *, reset: bool, device: Any = None) -> Input: ...
    def _described(
        self, given: Input, *, reset: bool, refusal: str | None = None
    ) -> tuple[Source, Description]: ...
    def _recipe(self, source: Source, table: Description) -> Recipe: ...
    def _initial_centers(self, plan: Plan, seeds: Seeds, starts: range) -> FloatArray: ...
    def _initial_weights(self, plan: Plan, seeds: Seeds, starts: range) -> Weights: ...
    def _pattern_exponent(self) -> float | None: ...
    def _pattern_options(self) -> dict[str, bool]: ...
    def _set_fitted(
        self, source: Source, recipe: Recipe, table: Description, run: Run
    ) -> FloatArray: ...
    def _label(
        self,
        source: Source,
        table: Description,
        rule: WeightRuleProtocol,
        run: Run | None = None,
    ) -> tuple[LabelArray, float, FloatArray]: ...
    def _weights(self) -> Weights: ...
    def _assignment(self, weights: Weights | None = None) -> Assignment: ...
    def _why_no_stream(self) -> str | None: ...


class OfTable:
    """What is known of the table of an estimator, and of parameters that only some have."""

    _coding: Coding | None  # of its categorical columns, once they are known
    _runs_on_device: bool = True

    @property
    def _names(self) -> Any:
        """Names of the columns, None if they have none."""
        return vars(self).get("feature_names_in_")

    @property
    def _missing(self) -> str:
        """What is done with missing cells."""
        missing: str = vars(self).get("missing", "error")
        return missing

    @property
    def _takes_categories(self) -> bool:
        """Whether columns may hold categories."""
        return "categorical_features" in vars(self)

    def _why_not_sparse(self) -> str | None:
        """Return why the algorithm cannot use sparse rows, None if it can."""
        return None

"""A score against a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, get_scorer, silhouette_score
from sklearn.pipeline import Pipeline
from sklearn.utils import check_scalar

from fwkmeans._tabular.columns import categorical_by_dtype, read_numeric
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.fitted import FittedView
from fwkmeans.plotting.axes import line_style, open_axes, plain
from fwkmeans.plotting.docstrings import documented
from fwkmeans.plotting.models import check_labels, rows_of, table_of
from fwkmeans.plotting.style import ACCENT, COLORS
from fwkmeans.typing import FloatArray


@documented
class ParameterCurveDisplay:
    """Line of a score against the values of a parameter, with the best one marked.

    {introduction}

    Parameters
    ----------
    param_range : sequence
        Values of the parameter. If they are not all finite numbers, they are drawn at even steps.
    scores : ndarray of shape (n_values,)
        Score of each; the higher, the better. NaN is a gap in the line.
    spread : ndarray of shape (n_values,), default=None
        Half the height of the band around the line.
    param_name : str, default="parameter"
        Name of the parameter.
    score_name : str, default="score"
        Name of the score.

    Attributes
    ----------
    {axes}
    lines_ : list of one matplotlib Line2D
        The scores.
    fill_between_ : list of one matplotlib PolyCollection, or None
        The spread about them.
    best_ : matplotlib Line2D or None
        Mark of the highest score (the first of several); None if there is none.
    best_index_ : int or None
        Its position among the values.

    See Also
    --------
    ObjectiveHistoryDisplay : How the objective fell.

    Examples
    --------
    >>> from fwkmeans import IMWKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.plotting import ParameterCurveDisplay
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X, y = load_uci("iris", return_X_y=True)
    >>> X = RangeStandardizer().fit_transform(X)
    >>> display = ParameterCurveDisplay.from_estimator(
    ...     IMWKMeans(3), X, param_name="p", param_range=[1.1, 2.0, 4.0], y=y
    ... )
    >>> display.param_range[display.best_index_], round(float(display.scores.max()), 2)
    (1.1, 0.76)
    """

    def __init__(
        self,
        param_range: Sequence[Any],
        scores: FloatArray,
        *,
        spread: FloatArray | None = None,
        param_name: str = "parameter",
        score_name: str = "score",
    ) -> None:
        self.param_range = param_range
        self.scores = scores
        self.spread = spread
        self.param_name = param_name
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        param_name: str,
        param_range: Any,
        y: Any = None,
        scoring: Any = None,
        n_repeats: int = 1,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Fit a clone of the estimator for every value, score it and draw the scores.

        Parameters
        ----------
        estimator : estimator or Pipeline
            What to fit; it is cloned and itself stays as it is.
        {X}
        param_name : str
            Name of the parameter, in a pipeline as in ``"wkmeans__beta"``.
        param_range : sequence
            Values of the parameter.
        y : array-like of shape (n_samples,), default=None
            Classes of the rows, for scores that compare with them.
        scoring : str or callable, default=None
            Name of a scorer of scikit-learn, or ``scoring(estimator, X, y)``. None is the adjusted
            Rand index with `y` if that is given, else the silhouette width of the labels among the
            rows that the clustering gets (unweighted Euclidean distances). It is NaN where there is
            only one cluster, and needs time that grows with the square of the number of rows.
        n_repeats : int, default=1
            Number of fits for each value, with ``random_state`` 0, 1, ...; the line then is the
            mean, the band one standard deviation; scores that are NaN are left out of both. With 1
            the estimator's own is used.
        {drawn}
        """
        check_scalar(n_repeats, "n_repeats", Integral, min_val=1)
        values = list(param_range)
        _check_parameter(estimator, param_name, values)
        scorer, score_name = _scorer_of(scoring, y)
        scores = np.full((len(values), n_repeats), np.nan)
        for at, value in enumerate(values):
            for repeat in range(n_repeats):
                model = clone(estimator).set_params(**{param_name: clone(value, safe=False)})
                if n_repeats > 1:
                    _seed(model, repeat)
                scores[at, repeat] = scorer(model.fit(X), X, y)
        means, spread = _of_repeats(scores)
        display = cls(
            values,
            means,
            spread=spread if n_repeats > 1 else None,
            param_name=param_name.rpartition("__")[2],
            score_name=score_name,
        )
        return display.plot(ax, **style)

    @classmethod
    def from_predictions(
        cls,
        param_range: Any,
        scores: Any,
        *,
        spread: Any = None,
        param_name: str = "parameter",
        score_name: str = "score",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw scores, wherever they come from.

        Parameters
        ----------
        param_range : sequence
            Values of the parameter.
        scores : array-like of shape (n_values,) or (n_values, n_repeats)
            Score of each; the higher, the better. Of repeats the mean is drawn, and a band of one
            standard deviation; those that are NaN are left out of both.
        spread : array-like of shape (n_values,), default=None
            Half the height of a band around the line.
        param_name : str, default="parameter"
            Name of the parameter.
        score_name : str, default="score"
            Name of the score.
        {drawn}
        """
        values, scores = list(param_range), np.asarray(scores, dtype=np.float64)
        if not values or scores.ndim not in (1, 2) or len(scores) != len(values):
            raise ValueError(
                f"scores has shape {scores.shape} for {len(values)} values; expected at least one "
                "value, and one score (or one row of repeats) for each."
            )
        if scores.ndim == 2:
            scores, own = _of_repeats(scores)
            spread = own if spread is None else spread
        if spread is not None:
            spread = np.asarray(spread, dtype=np.float64)
            if spread.shape != scores.shape:
                raise ValueError(
                    f"spread has shape {spread.shape}; expected {scores.shape}, one for each value."
                )
        display = cls(values, scores, spread=spread, param_name=param_name, score_name=score_name)
        return display.plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw the curve, in the next color if the axes have one already.

        Parameters
        ----------
        {ax}
        **style : dict
            Passed on to matplotlib's ``plot``, for the line. If there are several curves in the
            axes, the legend has their ``label``, which is the name of the score if none is given.

        {self}
        """
        ax = open_axes(ax, (5.5, 3.8))
        self.ax_, self.figure_ = ax, ax.figure
        numbers = all(_is_finite_number(value) for value in self.param_range)
        at = np.asarray(self.param_range if numbers else range(len(self.param_range)), np.float64)
        order = np.argsort(at, kind="stable")
        x, y = at[order], np.asarray(self.scores)[order]
        before = sum(line.get_linestyle() != "None" for line in ax.lines)
        colors = [color for color in COLORS if color != ACCENT]  # which is that of the marks
        look = {"color": colors[before % len(colors)], "label": plain(self.score_name, 60)}
        style = line_style(style, marker="o", markersize=4, **look)
        self.lines_ = ax.plot(x, y, **style)
        self.fill_between_ = None
        if self.spread is not None:
            half = np.asarray(self.spread)[order]
            color = self.lines_[0].get_color()
            band = ax.fill_between(x, y - half, y + half, color=color, alpha=0.2, lw=0)
            self.fill_between_ = [band]
        if not numbers:
            ax.set_xticks(at, [plain(value) for value in self.param_range])
            if sum(len(plain(value)) for value in self.param_range) > 45:
                ax.tick_params(axis="x", rotation=90)
        names = {"xlabel": plain(self.param_name), "ylabel": plain(self.score_name, 60)}
        if before and ax.get_xlabel() not in ("", names["xlabel"]):
            names["xlabel"] = "parameter"
        if before and ax.get_ylabel() not in ("", names["ylabel"]):
            names["ylabel"] = "score"
        ax.set(**names)
        self._mark_best(at)
        handles = ax.get_legend_handles_labels()[0] if before else [self.best_]
        if self.best_ is not None or before:
            ax.legend(handles=handles, frameon=False, fontsize="small")
        return self

    def _mark_best(self, at: Any) -> None:
        scores = np.asarray(self.scores)
        self.best_ = self.best_index_ = None
        if np.isnan(scores).all():
            return
        best = self.best_index_ = int(np.nanargmax(scores))
        value = self.param_range[best]
        shown = f"{value:.4g}" if _is_finite_number(value) else plain(value)
        (self.best_,) = self.ax_.plot(
            at[best : best + 1],
            scores[best : best + 1],
            linestyle="none",
            marker="o",
            markersize=9,
            markerfacecolor=self.lines_[0].get_color(),
            markeredgecolor=ACCENT,
            markeredgewidth=2,
            label=f"best: {plain(self.param_name)} = {shown} ({scores[best]:.3g})",
        )


def _of_repeats(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the repeats that have a score, NaN where none has."""
    there = ~np.isnan(scores)
    counts = np.where(there.any(axis=1), there.sum(axis=1), np.nan)
    means = np.where(there, scores, 0.0).sum(axis=1) / counts
    squares = np.where(there, scores - means[:, None], 0.0) ** 2
    return means, np.sqrt(squares.sum(axis=1) / counts)


def _is_finite_number(value: Any) -> bool:
    real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return real and bool(np.isfinite(float(value)))


def _check_parameter(estimator: Any, param_name: str, values: list[Any]) -> None:
    known = estimator.get_params()
    if param_name not in known:
        own = sorted(name for name in known if name.rpartition("__")[2] == param_name)
        hint = f"Did you mean {own[0]!r}?" if own else f"It has {', '.join(sorted(known))}."
        raise ValueError(
            f"param_name={param_name!r} is not a parameter of {type(estimator).__name__}. {hint}"
        )
    if not values:
        raise ValueError("param_range is empty; give at least one value of the parameter.")


def _scorer_of(scoring: Any, y: Any) -> tuple[Callable[..., float], str]:
    """Return what scores a fitted model, and its name."""
    if scoring is None:
        if y is not None:
            return _rand, "adjusted Rand index"
        return _silhouette, "silhouette width"
    if isinstance(scoring, str):
        return get_scorer(scoring), scoring.replace("_", " ")
    if not callable(scoring):
        raise TypeError(
            f"scoring={scoring!r}: expected the name of a scorer of scikit-learn, a function "
            "scoring(estimator, X, y), or None."
        )
    return scoring, getattr(scoring, "__name__", "score").replace("_", " ")


def _rand(model: Any, X: Any, y: Any) -> float:
    labels = _labels(model)
    return float(adjusted_rand_score(check_labels(y, len(labels), "y"), labels))


def _silhouette(model: Any, X: Any, y: Any) -> float:
    labels, table = _labels(model), table_of(rows_of(model, X))
    rows = np.full((1, 1), np.nan)
    if not (_has_categories(model) or categorical_by_dtype(table).size):
        rows = read_numeric(table, np.arange(table.shape[1]))
    if not np.isfinite(rows).all():
        raise ValueError(
            "X has categories or missing cells, between which a silhouette has no distances. Give "
            "the classes y, or a function as scoring."
        )
    if not 2 <= len(np.unique(labels)) < len(labels):
        return np.nan
    return float(silhouette_score(rows, labels))


def _labels(model: Any) -> Any:
    return _last(model).labels_


def _has_categories(model: Any) -> bool:
    last = _last(model)
    if not isinstance(last, BaseFeatureWeightedKMeans):
        return False
    return not FittedView.of(last).layout.is_numeric


def _last(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _seed(model: Any, seed: int) -> None:
    """Set every random state of an estimator or pipeline."""
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    model.set_params(**dict.fromkeys(names, seed))

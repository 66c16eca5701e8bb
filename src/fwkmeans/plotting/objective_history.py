"""How the objective fell from iteration to iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from fwkmeans.plotting.axes import line_style, open_axes, plain
from fwkmeans.plotting.docstrings import documented
from fwkmeans.plotting.models import model_of
from fwkmeans.plotting.style import color_of, marker_of
from fwkmeans.typing import FloatArray


@documented
class ObjectiveHistoryDisplay:
    """Lines of the objective after each iteration, one for each run.

    {introduction}

    Parameters
    ----------
    histories : dict of str to ndarray of shape (n_iter,)
        The objective after each iteration, by the name of the run.

    Attributes
    ----------
    {axes}
    lines_ : list of matplotlib Line2D
        One line for each run, in the order of `histories`.

    See Also
    --------
    ParameterCurveDisplay : How a score depends on a parameter.

    Examples
    --------
    >>> from fwkmeans import EWKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.plotting import ObjectiveHistoryDisplay
    >>> model = EWKMeans(3, random_state=0).fit(load_uci("iris").data)
    >>> display = ObjectiveHistoryDisplay.from_estimator(model)
    >>> len(display.lines_[0].get_xdata()) == len(model.objective_history_)
    True
    """

    def __init__(self, histories: dict[str, FloatArray]) -> None:
        self.histories = histories

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the objective of the best start of a fitted model.

        Parameters
        ----------
        {estimator}
        name : str, default=None
            Name of the line; None takes that of the class.
        {drawn}
        """
        model = model_of(estimator)
        history = np.asarray(model.objective_history_, dtype=np.float64)
        return cls({name or type(model).__name__: history}).plot(ax, **style)

    @classmethod
    def from_predictions(cls, histories: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw objectives, wherever they come from.

        Parameters
        ----------
        histories : array-like of shape (n_iter,), or dict of str to such
            The objective after each iteration, of one run or of several by name.
        {drawn}
        """
        named = histories if isinstance(histories, Mapping) else {"objective": histories}
        if not named:
            raise ValueError("histories is empty; give at least one run.")
        runs = {name: np.asarray(run, dtype=np.float64) for name, run in named.items()}
        for name, run in runs.items():
            if run.ndim != 1 or not run.size:
                raise ValueError(
                    f"The history {name!r} has shape {run.shape}; expected (n_iter,): one number "
                    "for each iteration. Give several runs as a dict by name."
                )
        return cls(runs).plot(ax, **style)

    def plot(
        self, ax: Any = None, *, relative: bool = False, legend: bool = True, **style: Any
    ) -> Self:
        """Draw the lines.

        Parameters
        ----------
        {ax}
        relative : bool, default=False
            Whether to divide each run by the absolute value it starts from, so that objectives of
            different algorithms can be seen together. A run that starts from 0 stays as it is.
        legend : bool, default=True
            Whether to name the lines if there are several, those that the axes had among them.
        **style : dict
            Passed on to matplotlib's ``plot``.

        {self}
        """
        ax = open_axes(ax, (5.5, 3.8))
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        before = sum(not line.get_label().startswith("_") for line in ax.lines)
        for number, (name, run) in enumerate(self.histories.items(), before):
            values = run / (abs(run[0]) or 1.0) if relative else run
            look = {"color": color_of(number), "marker": marker_of(number), "markersize": 4}
            look = line_style(style, label=plain(name), **look)
            self.lines_ += ax.plot(np.arange(1, len(values) + 1), values, **look)
        shown = np.concatenate([line.get_ydata() for line in self.lines_])
        level = float(np.abs(shown).max())
        if np.ptp(shown) <= 1e-9 * level:  # nothing but rounding, which would fill the picture
            ax.set_ylim(shown[0] - 0.05 * (level or 1.0), shown[0] + 0.05 * (level or 1.0))
        ax.xaxis.get_major_locator().set_params(integer=True)
        n_lines = before + len(self.histories)
        only = next(iter(self.histories)) if n_lines == 1 else "objective"
        what = only if only == "objective" else f"objective of {plain(only)}"
        ax.set(xlabel="iteration", ylabel=f"{what}, divided by its first" if relative else what)
        if legend and n_lines > 1:
            ax.legend(frameon=False, fontsize="small", ncols=1 + n_lines // 10)
        return self

"""What older versions of scikit-learn lack; from 1.7 on there is nothing to add."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator

__all__ = ["NotebookMixin"]

if hasattr(BaseEstimator, "_html_repr"):

    class NotebookMixin:
        """Notebooks show what `_html_repr` returns, as scikit-learn does it."""

else:

    class NotebookMixin:  # type: ignore[no-redef]
        """Notebooks show what `_html_repr` returns; before 1.7 they show the diagram alone."""

        def _repr_html_inner(self) -> str:
            return str(self._html_repr())  # type: ignore[attr-defined]

        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
            output = {"text/plain": repr(self)}
            if get_config()["display"] == "diagram":
                output["text/html"] = self._repr_html_inner()
            return output

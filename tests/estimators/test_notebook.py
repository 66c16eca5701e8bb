import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import estimator_html_repr

from fwkmeans import SYNCLUS, AWKMeans, EWKMeans, FGKMeans, IKPrototypes, KMeans, WKMeans
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.estimators.notebook import summary


class Table(HTMLParser):
    """Texts of the cells of a table, row by row, and the bars of the weights in percent."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.shades, self.open, self.inside = [], [], [], False
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.inside = True
            self.rows[-1].append("")
            found = re.search(r"\) (\d+)%, transparent 0\)$", dict(attrs).get("style", ""))
            if found:
                self.shades.append(float(found[1]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


@pytest.fixture
def X(rng):
    return rng.random((40, 12)) * np.linspace(0.2, 1.0, 12)


def test_table_holds_sizes_and_weights_of_the_heaviest_features(X):
    model = AWKMeans(3, random_state=0).fit(X)
    html = summary(model)
    table = Table(html)
    weights = model.feature_weights_
    order = sorted(range(12), key=lambda v: -sum(weights[:, v]))[:8]
    assert table.rows[0] == ["cluster", "rows", "feature weights"]
    assert table.rows[1] == [f"x{v}" for v in order]
    for k in range(3):
        shown = [str(k), str(sum(model.labels_ == k)), *(f"{weights[k, v]:.3f}" for v in order)]
        assert table.rows[2 + k] == shown
    expected = [100 * weights[k, v] / weights.max() for k in range(3) for v in order]
    np.testing.assert_allclose(table.shades, expected, atol=0.51)
    assert "Not shown: 4 lighter features" in html
    assert f"3 clusters of 40 rows, converged after {model.n_iter_} iterations" in html
    assert f"objective {model.inertia_:.6g}" in html


def test_a_sentence_says_what_clusters_are_like(rng, df_module):
    group = np.repeat([0, 1], 20)
    table = df_module.DataFrame({"a<b": group * 5.0 + rng.random(40), "same": np.ones(40)})
    model = KMeans(2, random_state=0).fit(table)
    high = int(model.cluster_centers_[1, 0] > model.cluster_centers_[0, 0])
    html = summary(model)
    assert f"<li>cluster {high}: high a&lt;b</li>" in html
    assert f"<li>cluster {1 - high}: low a&lt;b</li>" in html
    assert "same</li>" not in html


def test_weights_of_all_clusters_are_one_row(X):
    model = WKMeans(3, random_state=0).fit(X)
    rows = Table(summary(model)).rows
    assert len(rows) == 3
    assert rows[2][:2] == ["all 3", ", ".join(map(str, np.bincount(model.labels_)))]


def test_fitted_models_show_the_table_below_the_diagram(X):
    model = EWKMeans(2, random_state=0).fit(X)
    bundle = model._repr_mimebundle_()
    for html in (model._repr_html_(), bundle["text/html"]):
        assert "sk-top-container" in html
        assert html.endswith(summary(model))
    assert bundle["text/plain"] == repr(model)


def test_models_that_are_not_fitted_look_as_in_scikit_learn(X):
    model = KMeans(2)

    def numberless(html):
        return re.sub(r"sk-(container|estimator)-id-\d+", "", html)

    assert numberless(model._repr_html_()) == numberless(estimator_html_repr(model))
    with pytest.raises(ValueError):
        model.set_params(n_clusters=1000).fit(X)  # sets n_features_in_ before it fails
    assert "fwkmeans-summary" not in model._repr_html_()
    fitted = KMeans(2, random_state=0).fit(X)
    assert "fwkmeans-summary" not in clone(fitted)._repr_html_()


def test_text_display_is_respected(X):
    model = KMeans(2, random_state=0).fit(X)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_names_are_escaped(X, df_module):
    names = ["<script>alert(1)</script>", 'a"b', "x&y", "plain"]
    table = df_module.DataFrame({name: X[:, v] for v, name in enumerate(names)})
    html = summary(AWKMeans(2, random_state=0).fit(table))
    assert "<script>" not in html
    assert sorted(Table(html).rows[1]) == sorted(names)


def test_no_link_leads_nowhere(X):
    assert KMeans(2).fit(X)._get_doc_link() == ""
    assert "href" not in KMeans(2, random_state=0).fit(X)._repr_html_().partition("<body>")[2]


def test_many_clusters_and_one(rng):
    X = rng.random((60, 3))
    model = AWKMeans(25, random_state=0, n_init=1).fit(X)
    html = summary(model)
    assert len(Table(html).rows) == 2 + 20
    assert "Not shown: 5 more clusters." in html
    shared = summary(WKMeans(25, random_state=0, n_init=1).fit(X))
    assert Table(shared).rows[2][1].endswith(", …")
    one = summary(KMeans(1).fit(X[:1]))
    assert "1 cluster of 1 row," in one
    assert Table(one).rows[2][:2] == ["0", "1"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_a_table(name, X):
    model = ALGORITHMS[name](2, random_state=0).fit(X[:, :3])
    rows = Table(summary(model)).rows
    assert len(rows[1]) == 3
    assert "fwkmeans-summary" in model._repr_html_()


def test_weights_of_groups_are_multiplied_in_and_shown(X):
    groups = {"few": [0], "many": range(1, 12)}
    model = FGKMeans(2, groups=groups, random_state=0).fit(X)
    table = Table(summary(model))
    kinds = ["feature weights times group weights", "group weights"]
    assert table.rows[0] == ["cluster", "rows", *kinds]
    assert table.rows[1][-2:] == ["few", "many"]
    assert table.rows[2][-2:] == [f"{weight:.3f}" for weight in model.group_weights_[0]]
    at = table.rows[1].index("x0")
    assert table.rows[2][2 + at] == f"{model.group_weights_[0, 0]:.3f}"  # times 1, being alone
    model = SYNCLUS(2, groups=groups, group_weights=[0.25, 0.75], random_state=0).fit(X)
    table = Table(summary(model))
    assert table.rows[2][0] == "all 2"
    assert table.rows[2][-2:] == ["0.250", "0.750"]
    many = FGKMeans(2, groups=[[v] for v in range(12)], random_state=0).fit(X)
    assert Table(summary(many)).rows[0][-1] == "group weights (6 more)"


def test_a_sentence_names_categories(df_module):
    kinds = ["p<"] * 30 + ["q"] * 30 + ["r"] * 15
    model = IKPrototypes(2, random_state=0).fit(
        df_module.DataFrame({"kind": kinds, "x": np.repeat([0.0, 1.0], [30, 45])})
    )
    html, low = summary(model), model.labels_[0]
    of_low, of_high = (
        next(line for line in html.split("<li>") if line.startswith(f"cluster {k}:"))
        for k in (low, 1 - low)
    )
    assert "low x" in of_low
    assert "kind always “p&lt;”" in of_low
    assert "high x" in of_high
    assert "kind mostly “q”" in of_high

import numpy as np
import pytest

from fwkmeans.estimators import ALGORITHMS
from fwkmeans.survey import COMPARED, parse_contender, parse_grid, survey_protocol


def test_grids_are_those_of_the_survey():
    """1.0 to 5.0 in steps of 0.1; for EW-KM from 0."""
    for name in ("AWK", "WK-Means", "IK-P", "iMWK-Means"):
        values = parse_contender(name).values
        assert len(values) == 41
        assert values == tuple(round(0.1 * i, 1) for i in range(10, 51))
    assert parse_contender("EW-KM").values == tuple(round(0.1 * i, 1) for i in range(51))
    assert np.isnan(parse_contender("FWSA").values).tolist() == [True]


def test_the_protocol_is_the_survey_s():
    protocol = survey_protocol()
    assert tuple(c.name for c in protocol.contenders) == COMPARED
    units = list(protocol.units())
    assert len(units) == (13 * 2 + 4 * 20 * 2) * 6
    assert {unit.starts for unit in units} == {100}
    assert 3_000_000 < sum(unit.n_fits for unit in units) < 5_000_000
    assert {c.name for c in protocol.contenders if c.raw_categories} == {"AWK", "IK-P"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_may_take_part(name):
    contender = parse_contender(name)
    model = contender.model(3)
    assert type(model) is ALGORITHMS[name]
    assert model.n_clusters == 3
    assert model.init == ("anomalous" if name == "iMWK-Means" else "random")


def test_settings_are_part_of_the_label():
    assert parse_contender("ew-km [dispersion=sum]").label == "EW-KM[dispersion=sum]"
    assert parse_contender("EWKMeans[dispersion=mean]").label == "EW-KM"
    contender = parse_contender("WK-Means[smoothing=0.5,weights=cluster]")
    assert contender.label == "WK-Means[smoothing=0.5]"
    assert contender.model(2).smoothing == 0.5
    fixed = parse_contender("AWK[beta=3]")
    assert fixed.parameter is None
    assert fixed.model(2).beta == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AWKK", "did you mean AWK"),
        ("FWSA[beta=2]", "not a setting of FWSA"),
        ("AWK[beta]", "not a setting"),
        ("AWK[n_init=3]", "not a setting"),
        ("AWK[beta=2", "does not name an algorithm"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(ValueError, match=message):
        parse_contender(text)


def test_grids_as_text():
    assert parse_grid("1:2:0.5") == (1.0, 1.5, 2.0)
    assert parse_grid("3,1.5,2") == (1.5, 2.0, 3.0)
    assert parse_grid("1:5:0.1") == parse_contender("AWK").values
    for wrong in ("a", "1:2", "2:1:0.1", "1:2:0", "1:2:-1", ""):
        with pytest.raises(ValueError, match="is not a grid"):
            parse_grid(wrong)

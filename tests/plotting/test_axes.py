from fwkmeans.plotting.axes import plain
from fwkmeans.plotting.style import COLORS, MARKERS, color_of, marker_of


def test_fifty_six_clusters_look_different():
    looks = {(color_of(k), marker_of(k)) for k in range(len(COLORS) * len(MARKERS))}
    assert len(looks) == len(COLORS) * len(MARKERS) == 56


def test_names_are_cut_in_the_middle():
    assert plain("short") == "short"
    cut = [plain(f"a name much too long to be shown, {number}") for number in (1, 2)]
    assert max(map(len, cut)) == 28
    assert cut[0] != cut[1]
    assert plain("two\nlines") == "two lines"
    assert plain("cost in $") == r"cost in \$"

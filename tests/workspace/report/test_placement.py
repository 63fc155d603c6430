import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.workspace.report.placement import Box, place_labels

FRAME = Box(5, 5, 600, 400)


def edges(box):
    return box.x, box.y, box.x + box.width, box.y + box.height


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.floats(0.02, 1.0))
def test_labels_touch_neither_each_other_nor_markers_nor_the_frame(seed, n, crowded):
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.uniform(5, 605, n), rng.uniform(5, 405, n)]) * crowded + (1 - crowded) * 150
    sizes = [(float(w), 14.0) for w in rng.uniform(10, 160, n)]
    radius = rng.uniform(3, 7, n).tolist()
    placed = place_labels(points, sizes, rng.permutation(n).tolist(), FRAME, radius)
    boxes = [edges(label.box) for label in placed]
    assert len({label.index for label in placed}) == len(placed)
    for i, box in enumerate(boxes):
        assert (placed[i].box.width, placed[i].box.height) == sizes[placed[i].index]
        assert box[0] >= 5
        assert box[1] >= 5
        assert box[2] <= 605
        assert box[3] <= 405
        assert not any(overlap(box, other) for other in boxes[:i])
        for (x, y), r in zip(points, radius, strict=True):
            assert not overlap(box, (x - r, y - r, x + r, y + r))
        for label in placed:
            if label.line is not None and label is not placed[i]:
                x0, y0, x1, y1 = label.line
                for t in np.linspace(0, 0.9, 10):
                    x, y = x0 + t * (x1 - x0), y0 + t * (y1 - y0)
                    assert not overlap(box, (x, y, x, y))


def test_a_lone_label_stands_to_the_right():
    [label] = place_labels(np.array([[100.0, 100.0]]), [(50.0, 14.0)], [0], FRAME, [4.0])
    assert label.line is None
    assert (label.box.x, label.box.y) == (107, 93)


def test_a_label_at_the_right_edge_stands_to_the_left():
    [label] = place_labels(np.array([[600.0, 100.0]]), [(50.0, 14.0)], [0], FRAME, [4.0])
    assert label.box.x + label.box.width == 593


def test_the_first_in_the_order_wins_and_the_last_is_left_out():
    points = np.full((40, 2), 200.0)
    order = [7, *(k for k in range(40) if k != 7)]
    placed = place_labels(points, [(80.0, 14.0)] * 40, order, FRAME, [4.0] * 40)
    assert placed[0].index == 7
    assert 4 <= len(placed) < 40


def test_no_points_no_labels():
    assert place_labels(np.empty((0, 2)), [], [], FRAME, []) == []

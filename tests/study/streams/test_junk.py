import numpy as np
import pytest

from vbcgcd import InputError
from vbcgcd.study.streams.junk import carried_over, junk_rows
from vbcgcd.study.streams.shapes import make_stream

RNG = np.random.default_rng(0)


def lengths(rows):
    return np.linalg.norm(rows, axis=1)


def test_rows_of_the_same_width_stay_as_they_are():
    rows = RNG.standard_normal((5, 8))
    assert carried_over(rows, 9 * RNG.standard_normal((6, 8))) is rows


@pytest.mark.parametrize("width", [3, 20])
def test_other_widths_are_mapped_and_scaled_to_the_median_length(width):
    rows, like = RNG.standard_normal((50, width)), 7 * RNG.standard_normal((40, 8)).astype(np.float32)
    moved = carried_over(rows, like)
    assert moved.shape == (50, 8)
    assert moved.dtype == np.float32
    assert np.median(lengths(moved)) == pytest.approx(np.median(lengths(like)), rel=1e-5)
    np.testing.assert_array_equal(moved, carried_over(rows, like))


def test_a_wider_space_keeps_all_angles():
    rows = RNG.standard_normal((10, 3))
    moved = carried_over(rows, RNG.standard_normal((40, 8)))
    scale = lengths(moved)[0] / lengths(rows)[0]
    np.testing.assert_allclose(moved @ moved.T, scale**2 * rows @ rows.T, atol=1e-10)


def test_junk_is_taken_from_the_dataset_of_the_plan(stream_data, junk_data):
    plan = make_stream(stream_data.train_y, junk_y=junk_data.train_y)
    parts = junk_rows(plan, stream_data, junk_data)
    assert [len(p) for p in parts] == [len(s.junk) for s in plan.sessions]
    assert {p.shape[1] for p in parts} == {stream_data.train_x.shape[1]}
    for other in (None, stream_data):
        with pytest.raises(InputError) as caught:
            junk_rows(plan, stream_data, other)
        assert caught.value.option == "junk"


def test_junk_of_the_data_itself_needs_no_other(stream_data):
    plan = make_stream(stream_data.train_y)
    for part, session in zip(junk_rows(plan, stream_data, None), plan.sessions, strict=True):
        np.testing.assert_array_equal(part, stream_data.train_x[session.junk])

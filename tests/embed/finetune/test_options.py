import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.embed.finetune.options import FinetuneOptions, changed_options, rate_factor
from vbcgcd.errors import InputError


def test_the_papers_values_are_the_defaults():
    options = FinetuneOptions()
    values = (options.method, options.block_size, options.factors, options.dropout, options.learning_rate)
    assert values == ("boft", 4, 2, 0.1, 1e-3)
    assert options.epochs == 10


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("method", "full"),
        ("epochs", 0),
        ("learning_rate", 0.0),
        ("contrastive_weight", 1.5),
        ("contrast", "none"),
        ("temperature", -1),
        ("batch_size", 2.5),
        ("validation_share", 1.0),
        ("patience", 0),
        ("precision", "int8"),
        ("random_state", -1),
        ("factors", 0),
        ("dropout", 1.0),
        ("augmentation", {"flip": 0}),
    ],
)
def test_values_out_of_range_are_named(name, value):
    with pytest.raises(InputError) as caught:
        FinetuneOptions(**{name: value})
    assert caught.value.option == name


def test_plain_values_survive_json():
    values = FinetuneOptions(patience=None).as_json()
    assert json.loads(json.dumps(values)) == values


def test_what_changed_is_said():
    before, now = FinetuneOptions().as_json(), FinetuneOptions(epochs=3).as_json()
    now["augmentation"]["flip"] = 0.0
    assert changed_options(before, before) == []
    assert changed_options(before, now) == ["epochs was 10, is 3", "augmentation.flip was 0.5, is 0.0"]


@given(steps=st.integers(1, 300), warmup=st.floats(0, 1))
def test_it_rises_then_falls(steps, warmup):
    factors = [rate_factor(s, steps, warmup) for s in range(steps)]
    assert all(0 < f <= 1 for f in factors)
    top = factors.index(max(factors))
    assert factors[: top + 1] == sorted(factors[: top + 1])
    assert factors[top:] == sorted(factors[top:], reverse=True)
    assert top <= math.ceil(warmup * steps)


def test_half_a_cosine_ends_at_zero():
    assert rate_factor(0, 100, 0.0) == 1
    assert rate_factor(50, 100, 0.0) == pytest.approx(0.5)
    assert rate_factor(100, 100, 0.0) == pytest.approx(0)
    assert rate_factor(9, 100, 0.1) == pytest.approx(1)
    assert rate_factor(4, 100, 0.1) == pytest.approx(0.5)

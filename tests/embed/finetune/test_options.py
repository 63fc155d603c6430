import json

import pytest

from vbcgcd.embed.finetune.options import FinetuneOptions, changed_options
from vbcgcd.errors import InputError


def test_the_papers_values_are_the_defaults():
    options = FinetuneOptions()
    options.check()
    said = (options.method, options.block_size, options.factors, options.dropout, options.learning_rate)
    assert said == ("boft", 4, 2, 0.1, 1e-3)
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
    with pytest.raises(InputError, match=name):
        FinetuneOptions(**{name: value}).check()


def test_plain_values_survive_json():
    said = FinetuneOptions(patience=None).to_json()
    assert json.loads(json.dumps(said)) == said


def test_what_changed_is_said():
    before, now = FinetuneOptions().to_json(), FinetuneOptions(epochs=3).to_json()
    now["augmentation"]["flip"] = 0.0
    assert changed_options(before, before) == []
    assert changed_options(before, now) == ["epochs was 10, is 3", "augmentation.flip was 0.5, is 0.0"]

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace.config import DEFAULTS, check_config, check_device


def test_defaults_are_valid():
    assert check_config(DEFAULTS) == DEFAULTS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, "'colour'"),
        ({"reject": 1.5}, "reject"),
        ({"reject": "x"}, "reject"),
        ({"excerpts": -1}, "excerpts"),
        ({"sample": 1.5}, "sample"),
        ({"names": "poetic"}, "names"),
        ({"kind": "sound"}, "kind"),
        ({"embedder": 3}, "embedder must"),
        ({"model": 3}, "model must"),
        ({"model": {"n_clusters": 3}}, "'n_clusters'"),
        ({"model": {"cluster": np.mean}}, "plain values"),
        ({"model": {"covariance": "round"}}, "covariance"),
        ({"model": {"n_components": 0}}, "n_components"),
        ({"model": {"covariance": "shared"}}, "covariance"),
        ({"model": {"head": "ridge"}}, "no head 'ridge'.*Use 'direction'"),
        ({"path": 1, "self": 2}, "'path', 'self'; .* kind, embedder"),
    ],
)
def test_a_wrong_setting_is_one_clear_error(changes, message):
    with pytest.raises(InputError, match=message):
        check_config(changes)


def test_what_was_learned_fixes_some_settings():
    with pytest.raises(InputError) as caught:
        check_config({"model": {}}, learned=True)
    assert caught.value.option == "model"
    assert check_config({"reject": 0.05}, learned=True) == {"reject": 0.05}


def test_a_device_is_looked_for_only_where_it_is_newly_chosen():
    check_device({}, {"device": "abacus"})
    check_device({"device": "auto"}, {})
    check_device({"device": "abacus", "covariance": "diagonal"}, {"device": "abacus"})
    with pytest.raises(InputError, match="abacus") as caught:
        check_device({"device": "abacus"}, {"device": "cpu"})
    assert caught.value.option == "device"
    assert check_config({"model": {"device": "abacus"}})  # as an imported workspace may have it

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace.config import DEFAULTS, check_config


def test_defaults_are_valid():
    assert check_config(DEFAULTS) == DEFAULTS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, "no setting 'colour'"),
        ({"reject": 1.5}, "reject must be"),
        ({"reject": "x"}, "reject must be"),
        ({"excerpts": -1}, "excerpts must be"),
        ({"sample": 1.5}, "sample must be"),
        ({"names": "poetic"}, "names must be"),
        ({"kind": "sound"}, "kind must be"),
        ({"embedder": 3}, "embedder must be"),
        ({"model": 3}, "model must be a mapping of options"),
        ({"model": {"n_clusters": 3}}, "no option 'n_clusters'"),
        ({"model": {"cluster": np.mean}}, "plain values"),
        ({"model": {"covariance": "round"}}, "covariance must be one of"),
        ({"model": {"n_components": 0}}, "n_components must be"),
        ({"model": {"covariance": "shared"}}, "covariance must be one of"),
        ({"path": 1, "self": 2}, "no setting 'path', 'self'; the settings are kind, embedder"),
    ],
)
def test_a_wrong_setting_is_one_clear_error(changes, message):
    with pytest.raises(InputError, match=message):
        check_config(changes)


def test_what_was_learned_fixes_some_settings():
    with pytest.raises(InputError, match="cannot be changed after the base session"):
        check_config({"model": {}}, learned=True)
    assert check_config({"reject": 0.05}, learned=True) == {"reject": 0.05}

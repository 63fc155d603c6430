"""Names that are imported when they are first used."""

import sys
import types

import pytest

import vbcgcd.embed
import vbcgcd.workspace
import vbcgcd.workspace.commands
import vbcgcd.workspace.queries
from vbcgcd.lazy import lazy_names

PACKAGES = (vbcgcd, vbcgcd.embed, vbcgcd.workspace, vbcgcd.workspace.commands, vbcgcd.workspace.queries)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_public_name_resolves(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_other_names_are_attribute_errors(package):
    with pytest.raises(AttributeError, match=rf"module '{package.__name__}' has no attribute 'absent'"):
        package.absent  # noqa: B018


def test_a_name_is_looked_up_once(monkeypatch):
    package = types.ModuleType("some_package")
    package.__all__ = ["plural", "written_here"]
    monkeypatch.setitem(sys.modules, "some_package", package)
    package.__getattr__, package.__dir__ = lazy_names("some_package", {"vbcgcd.words": ("plural",)})
    assert "plural" not in vars(package)
    assert package.plural(2, "cat") == "2 cats"
    assert "plural" in vars(package)
    assert dir(package) == ["plural", "written_here"]

import sys
import types

import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import fetch


@pytest.fixture
def vision(monkeypatch):
    """A torchvision whose CIFAR100 does what the test says."""

    def install(download):
        module = types.ModuleType("torchvision.datasets")
        module.CIFAR100 = download
        package = types.ModuleType("torchvision")
        package.datasets = module
        monkeypatch.setitem(sys.modules, "torchvision", package)
        monkeypatch.setitem(sys.modules, "torchvision.datasets", module)

    return install


def test_cifar100_is_left_to_torchvision_and_fetched_once(vision, tmp_path):
    calls = []

    def download(root, train, download):
        calls.append((root, train, download))
        (tmp_path / "new" / "cifar-100-python").mkdir()
        for name in ("train", "test", "meta"):
            (tmp_path / "new" / "cifar-100-python" / name).touch()

    vision(download)
    expected = tmp_path / "new" / "cifar-100-python"
    assert fetch("cifar100", tmp_path / "new") == expected
    assert fetch("cifar100", str(tmp_path / "new")) == expected
    assert calls == [(str(tmp_path / "new"), True, True)]


@pytest.mark.parametrize("error", [OSError("no route"), RuntimeError("File not found or corrupted.")])
def test_a_failure_on_the_way(vision, tmp_path, error):
    def download(**_):
        raise error

    vision(download)
    with pytest.raises(
        InputError, match=r"could not be fetched \(.*\); try again, or give the path of cifar-100"
    ):
        fetch("cifar100", tmp_path)


def test_a_download_that_leaves_nothing(vision, tmp_path):
    vision(lambda **_: None)
    with pytest.raises(InputError, match="left no folder"):
        fetch("cifar100", tmp_path)


@pytest.mark.parametrize(
    ("name", "package", "local"),
    [
        ("cifar100", "torchvision", "cifar-100-python.tar.gz"),
        ("hf:owner/name", "datasets", "a table .*jsonl"),
    ],
)
def test_a_missing_package_is_named_with_the_local_way(monkeypatch, tmp_path, name, package, local):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"needs the package {package}, .* or give .*{local}"):
        fetch(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_other_names(tmp_path):
    with pytest.raises(
        InputError, match="'mnist' cannot be fetched; allowed are 'cifar100' and 'hf:owner/name'"
    ):
        fetch("mnist", tmp_path)

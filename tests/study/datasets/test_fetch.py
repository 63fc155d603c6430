import sys
import types

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import load_items
from vbcgcd.study.datasets.fetch import fetch


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
    with pytest.raises(InputError, match=r"be fetched \(.*\); .* cifar-100"):
        fetch("cifar100", tmp_path)


def test_a_download_that_leaves_nothing(vision, tmp_path):
    vision(lambda **_: None)
    with pytest.raises(InputError, match="did not create"):
        fetch("cifar100", tmp_path)


@pytest.mark.parametrize(
    ("name", "package", "local"),
    [
        ("cifar100", "torchvision", "cifar-100-python.tar.gz"),
        ("hf:owner/name", "datasets", "table .*jsonl"),
    ],
)
def test_a_missing_package_is_named_with_the_local_way(monkeypatch, tmp_path, name, package, local):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"{package}, .*{local}"):
        fetch(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_other_names(tmp_path):
    with pytest.raises(InputError, match=r"'mnist' .*'cifar100', 'hf:owner/name'"):
        fetch("mnist", tmp_path)


class ClassLabel:
    def __init__(self, names):
        self.names = names


class Image:
    pass


class Value:
    pass


class Rows(list):
    """The little of a hub dataset that is used: features, rows, and columns by name."""

    def __init__(self, features, rows):
        super().__init__(rows)
        self.features = features

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


@pytest.fixture
def hub(monkeypatch):
    """Function parts -> list of calls, with a package datasets that serves these parts."""

    def serve(parts):
        calls = []

        def load_dataset(*args):
            calls.append(args)
            if isinstance(parts, Exception):
                raise parts
            return parts

        module = types.ModuleType("datasets")
        module.load_dataset = load_dataset
        monkeypatch.setitem(sys.modules, "datasets", module)
        return calls

    return serve


TEXT = {"text": Value(), "label": ClassLabel(["neg", "pos"])}


def texts(*codes):
    return Rows(TEXT, [{"text": f"t{i} é\n", "label": c} for i, c in enumerate(codes)])


def test_texts_become_tables_with_class_names(hub, tmp_path):
    calls = hub({"train": texts(1, 0), "validation": texts(1), "test": texts(0), "unsupervised": texts(-1)})
    path = fetch("hf:owner/name", tmp_path / "new")
    assert fetch("hf:owner/name", tmp_path / "new") == path
    assert calls == [("owner/name",)]
    assert sorted(p.name for p in path.iterdir()) == ["test.jsonl", "train.jsonl", "val.jsonl"]
    data = load_items(path)
    assert data.class_names == ("neg", "pos")
    assert sorted(data.train.labels) == [0, 1, 1]
    assert data.test.values == ["t0 é\n"]


def test_configurations_have_folders_of_their_own(hub, tmp_path):
    calls = hub({"train": texts(1, 0), "test": texts(0)})
    assert fetch("hf:owner/name:small", tmp_path) != fetch("hf:owner/name", tmp_path)
    assert calls == [("owner/name", "small"), ("owner/name",)]


def test_hidden_test_labels_leave_one_table(hub, tmp_path):
    hub({"train": texts(1, 0, 1, 0, -1), "test": texts(-1, -1)})
    path = fetch("hf:name", tmp_path)
    assert path == fetch("hf:name", tmp_path)
    data = load_items(path)
    assert (len(data.train), len(data.test)) == (2, 2)


def test_pictures_become_class_folders(hub, tmp_path):
    image = pytest.importorskip("PIL.Image")
    red = image.fromarray(np.full((4, 4, 3), (255, 0, 0), np.uint8))
    features = {"img": Image(), "fine_label": ClassLabel(["a/b", "..", "a%2Fb"])}
    rows = Rows(features, [{"img": red.convert("P"), "fine_label": c} for c in (0, 1, 2, 1)])
    hub({"train": rows, "test": rows})
    path = fetch("hf:owner/pictures", tmp_path)
    data = load_items(path)
    assert (data.kind, len(data.class_names), len(data.train), len(data.test)) == ("image", 3, 4, 4)
    assert all(path in p.resolve().parents for p in data.train.values)
    with image.open(data.train.values[0]) as first:
        assert (first.mode, first.getpixel((0, 0))) == ("RGB", (255, 0, 0))


def test_one_part_of_pictures_is_split_later(hub, tmp_path):
    image = pytest.importorskip("PIL.Image")
    picture = image.new("RGB", (2, 2))
    features = {"image": Image(), "label": Value()}
    hub({"train": Rows(features, [{"image": picture, "label": c} for c in "aabb"])})
    data = load_items(fetch("hf:o/n", tmp_path))
    assert (data.class_names, len(data.test)) == (("a", "b"), 2)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (
            ConnectionError("offline"),
            r"\(ConnectionError: offline\)",
        ),
        ({"test": texts(1)}, "part train; .* test"),
        ({"train": Rows({"text": Value()}, [{"text": "a"}])}, "label column; .* text"),
        (
            {"train": Rows({"x": Image(), "label": Value()}, [{"x": None, "label": "a"}])},
            "name has no picture",
        ),
    ],
)
def test_a_failure_leaves_nothing_behind(hub, tmp_path, parts, words):
    hub(parts)
    with pytest.raises(InputError, match=words):
        fetch("hf:owner/name", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["hf:", "hf:../x", "hf:a/b/c", "hf:a/", "hf:a/b:c/d"])
def test_names_that_are_none(hub, tmp_path, name):
    calls = hub({})
    with pytest.raises(InputError):
        fetch(name, tmp_path)
    assert calls == []

import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import read_items


@pytest.fixture
def folder(tmp_path):
    def fill(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        return tmp_path

    return fill


def test_the_first_folder_is_the_label(folder):
    root = folder(
        "b/2.png", "b/deep/er/1.JPG", "a/x.webp", "a/notes.txt", ".hidden/x.png", "a/.x.png", "Thumbs.db"
    )
    items = read_items(root)
    assert items.references == ["a/x.webp", "b/2.png", "b/deep/er/1.JPG"]
    assert items.labels.tolist() == ["a", "b", "b"]
    assert items.values == [root / name for name in items.references]
    assert (items.kind, items.columns) == ("image", {"label": "folder"})


def test_names_of_folders_stay_strings(folder):
    assert read_items(folder("1/a.png", "02/a.png")).labels.tolist() == ["02", "1"]


def test_a_flat_folder_has_no_labels(folder):
    items = read_items(folder("b.png", "a.png"))
    assert items.references == ["a.png", "b.png"]
    assert items.labels is None


def test_pictures_outside_the_folders_have_none(folder):
    items = read_items(folder("b.png", "x/a.png"))
    assert items.labels.tolist() == [None, "x"]


def test_a_relative_folder_gives_absolute_paths(folder, monkeypatch):
    monkeypatch.chdir(folder("x/a.png"))
    assert read_items("x").values[0].is_absolute()


def test_a_link_to_a_folder_above_does_not_run_forever(folder):
    root = folder("x/a.png")
    (root / "x" / "loop").symlink_to(root)
    assert read_items(root).references == ["x/a.png"]


def test_folders_linked_across_each_other_are_read_once(folder):
    """Twelve of them have a hundred million paths."""
    names = [f"f{i:02d}" for i in range(12)]
    root = folder(*(f"{name}/1.png" for name in names))
    for one in names:
        for other in names:
            if one != other:
                (root / one / f"to-{other}").symlink_to(root / other)
    assert read_items(root).references == [f"{name}/1.png" for name in names]


def test_a_linked_folder_goes_by_its_own_name_or_the_first(folder, tmp_path_factory):
    root, other = folder("z/1.png"), tmp_path_factory.mktemp("other")
    (other / "2.png").touch()
    (root / "a").symlink_to(root / "z")
    (root / "c").symlink_to(other)
    (root / "b").symlink_to(other)
    assert read_items(root).references == ["b/2.png", "z/1.png"]


def test_a_link_to_itself_is_left_out_and_the_others_are_read(folder):
    root = folder("x/a.png")
    for place in (root / "loop.png", root / "loop", root / "x" / "b.png"):
        place.symlink_to(place.name)
    assert read_items(root).references == ["x/a.png"]


@pytest.mark.parametrize(
    ("names", "options", "words", "option"),
    [
        (["notes.txt"], {}, "no pictures", None),
        (["train/a/1.png", "test/a/1.png"], {}, "test, train", None),
        (["a/1.png"], {"label": "x", "split": ("a", "b")}, "'label', 'split'", "label"),
        (["a/1.png"], {"kind": "text"}, "images.*texts", "kind"),
    ],
)
def test_one_clear_error(folder, names, options, words, option):
    with pytest.raises(InputError, match=words) as caught:
        read_items(folder(*names), **options)
    assert caught.value.option == option


def test_a_class_called_train_is_a_class(folder):
    assert read_items(folder("train/1.png", "car/1.png")).labels.tolist() == ["car", "train"]

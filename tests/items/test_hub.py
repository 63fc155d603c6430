import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import hub, read_items
from vbcgcd.items.from_table import table_items

datasets = pytest.importorskip("datasets")


@pytest.fixture
def data():
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["greet", "leave"])}
    )
    rows = {"text": ["hello", "bye", "hi"], "label": [0, 1, -1]}
    return datasets.Dataset.from_dict(rows, features=features)


def test_in_memory_labels_have_their_names(data):
    items = table_items(hub.hub_table(data))
    assert items.values == ["hello", "bye", "hi"]
    assert items.labels.tolist() == ["greet", "leave", None]


def test_a_stream_is_read_in_blocks(data, monkeypatch):
    monkeypatch.setattr(hub, "BLOCK", 2)
    table = hub.HubTable(data.to_iterable_dataset())
    assert [list(block.places) for block in table.blocks(["text"])] == [[0, 1], [2]]
    assert table_items(table).labels.tolist() == ["greet", "leave", None]


def test_a_stream_that_does_not_name_its_columns():
    stream = datasets.IterableDataset.from_generator(lambda: ({"text": t, "n": 1} for t in ("hello", "bye")))
    assert stream.features is None
    assert table_items(hub.HubTable(stream)).values == ["hello", "bye"]


def test_a_folder_that_save_to_disk_wrote(data, tmp_path):
    data.select([2, 0]).save_to_disk(tmp_path / "one")
    items = read_items(tmp_path / "one")
    assert items.values == ["hi", "hello"]
    assert items.source == str(tmp_path / "one")


def test_of_several_parts_one_has_to_be_chosen(data, tmp_path):
    datasets.DatasetDict({"train": data, "test": data}).save_to_disk(tmp_path / "both")
    with pytest.raises(InputError, match="train, test"):
        read_items(tmp_path / "both")
    assert len(read_items(tmp_path / "both" / "test")) == 3


@pytest.mark.parametrize(
    ("source", "called"),
    [
        ("hf:imdb", ("imdb", {})),
        ("hf:clinc/clinc_oos@plus:train", ("clinc/clinc_oos", {"name": "plus", "split": "train"})),
        ("hf:banking77:test", ("banking77", {"split": "test"})),
        (
            "hf:a.b/c-d@20220301.en:train[10:20%]",
            ("a.b/c-d", {"name": "20220301.en", "split": "train[10:20%]"}),
        ),
    ],
)
def test_by_name_it_is_streamed(data, monkeypatch, source, called):
    calls = []

    def load(path, *, streaming, **options):
        assert streaming
        calls.append((path, options))
        return data.to_iterable_dataset()

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert len(read_items(source)) == 3
    assert calls == [called]


def test_what_cannot_be_opened_is_one_error(monkeypatch, tmp_path):
    def load(*values, **options):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(InputError, match="no network"):
        read_items("hf:imdb")
    with pytest.raises(InputError, match="hf:NAME"):
        read_items("hf:")
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(InputError, match="Cannot open"):
        read_items(tmp_path)


def test_a_stream_that_breaks_off_is_one_error():
    def rows():
        yield {"text": "hello there", "label": "a"}
        raise ConnectionError("no network")

    stream = datasets.IterableDataset.from_generator(
        rows,
        features=datasets.Features({"text": datasets.Value("string"), "label": datasets.Value("string")}),
    )
    with pytest.raises(InputError, match="no network"):
        table_items(hub.hub_table(stream))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(InputError, match=r"vbcgcd\[datasets\]"):
        read_items("hf:imdb")


@pytest.mark.parametrize(
    "name",
    [
        *["../../etc/passwd", "/etc/passwd", "..", ".", "./a", "a/..", "a/b/c", "~/a", "a\\b", "a b"],
        *["a\n", "a:train\n", "a@b\u2028", "a@../b", "a:../b", "a@", "a:", "http://a/b", "zip://a"],
    ],
)
def test_a_name_is_never_a_path(monkeypatch, name):
    monkeypatch.setattr(datasets, "load_dataset", lambda *args, **options: pytest.fail("loaded"))
    with pytest.raises(InputError, match="OWNER/NAME"):
        hub.hub_table(f"hf:{name}")

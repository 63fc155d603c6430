"""Exports by somebody who means harm and has computed every digest again."""

import io
import json
import time
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load, save

from torture.imports import linked, sample, zipped
from vbcgcd.errors import InputError, VbcgcdError, WorkspaceDamaged
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.imports.contents import UNPACKED_BYTES


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """An export: 1 init, 2 learn, 3 discover, 4 rename, 5 merge, ..., 8 move, 9 split, 10 reject, ..."""
    return sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def refused(tmp_path):
    """The error of an import of these members, or of a zip file; nothing is left behind."""

    def attempt(members, kind=VbcgcdError):
        data = members if isinstance(members, bytes) else zipped(linked(members))
        (tmp_path / "x.zip").write_bytes(data)
        start = time.monotonic()
        with pytest.raises(kind) as caught:
            Workspace.import_(tmp_path / "x.zip", tmp_path / "copy")
        assert time.monotonic() - start < 10
        assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]
        message = str(caught.value)
        assert "\n" not in message
        assert ".new-" not in message
        return message

    return attempt


def edited(members, commit, edit):
    """The members with the record of a commit changed in place."""
    name = f"commits/{commit:06d}/commit.json"
    values = json.loads(members[name])
    edit(values)
    return {**members, name: json.dumps(values).encode()}


def with_array(members, name, key, value):
    arrays = load(members[name])
    size = int.from_bytes(members[name][:8], "little")
    meta = json.loads(members[name][8 : 8 + size])["__metadata__"]
    arrays[key].flat[0] = value
    return {**members, name: save(arrays, metadata=meta)}


def test_the_sample_itself_is_accepted(members, tmp_path):
    (tmp_path / "x.zip").write_bytes(zipped(linked(members)))
    copy = Workspace.import_(tmp_path / "x.zip", tmp_path / "copy")
    assert [info.name for info in copy.categories()] == [info.name for info in copy.categories()]
    assert {name.split("/")[-1] for name in members} >= {"seedlings.safetensors", "excerpts.json"}


@pytest.mark.parametrize("version", [-(10**12), 0, True, 1.0, "1", None])
def test_versions_that_never_were(members, refused, version):
    assert "version" in refused(edited(members, 2, lambda v: v.update(version=version)), WorkspaceDamaged)
    about = {**json.loads(members["workspace.json"]), "version": version}
    assert "version" in refused({**members, "workspace.json": json.dumps(about).encode()}, WorkspaceDamaged)


def test_a_later_version_asks_for_an_update(members, refused):
    assert "update vbcgcd" in refused(edited(members, 2, lambda v: v.update(version=2)))


@pytest.mark.parametrize("name", ["/etc/passwd", "../../secret", "x/../y", "model.sh", ""])
def test_files_are_those_of_a_commit_and_no_paths(members, refused, name, monkeypatch):
    monkeypatch.setattr("vbcgcd.workspace.log.store.file_digest", lambda path: pytest.fail(f"read {path}"))
    mark = {"bytes": 1, "sha256": "0" * 64}
    assert "files" in refused(edited(members, 2, lambda v: v["files"].update({name: mark})))


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "commits/000001/evil.sh", "local.json", "commits/²/commit.json"]
)
def test_members_are_those_of_an_export(members, refused, name):
    assert "not an export" in refused({**members, name: b"x"}, InputError)


def test_a_member_that_no_record_names(members, refused):
    assert "excerpts.json" in refused({**members, "commits/000001/excerpts.json": b"{}"})


@pytest.mark.parametrize("edges", [{1: [0], 0: [1]}, {0: [0]}, {0: [999]}, {0: []}, {0: [5, 6]}])
def test_merges_that_run_in_circles_or_nowhere(members, refused, edges):
    def circle(values):
        for category in values["changes"]["categories"]:
            if category["id"] in edges:
                category.update(status="merged", into=edges[category["id"]])

    assert "category" in refused(edited(members, 5, circle))


@pytest.mark.parametrize("part", ["mean", "kappa", "nu", "factor"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_posteriors_that_are_none(members, refused, part, value):
    if (part, value) == ("mean", -1.0):
        pytest.skip("a mean may be anywhere")
    assert "posterior" in refused(with_array(members, "commits/000003/posteriors.safetensors", part, value))
    base = "commits/000002/model.safetensors"
    assert "posterior" in refused(with_array(members, base, f"posterior.{part}", value))


def test_a_bomb_is_not_unpacked(members, refused):
    name = "commits/000002/sample.safetensors"
    bomb = zipped(linked({**members, name: bytes(30_000_000)}), compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1_000_000
    assert "compressed" in refused(bomb)


def test_overlapping_members_are_not_unpacked(members, refused):
    """One part of the file under many names: small on the disk, and as large as one likes unpacked."""
    members = {**members, "commits/000002/sample.safetensors": bytes(500_000)}
    data = zipped(linked(members))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as archive:
        for info in source.infolist():
            archive.writestr(info, source.read(info))
        big = next(i for i in archive.filelist if i.filename.endswith("000002/sample.safetensors"))
        for commit in range(3, 9):
            other = zipfile.ZipInfo(f"commits/{commit:06d}/seedlings.safetensors")
            for field in ("header_offset", "file_size", "compress_size", "CRC"):
                setattr(other, field, getattr(big, field))
            archive.filelist.append(other)
        archive._didModify = True
    assert "larger than the file" in refused(out.getvalue())


def test_a_table_that_unpacks_to_far_more_is_refused(members, refused):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    name, n = "commits/000002/assignments.parquet", 20_000
    table = parquet.read_table(io.BytesIO(members[name]))
    columns = {c: [table[c][0].as_py()] * n for c in table.column_names}
    columns["reference"] = ["x" * 2000] * n
    out = io.BytesIO()
    schema = arrow.schema([(f.name, f.type) for f in table.schema])
    parquet.write_table(arrow.table(columns, schema), out, compression="zstd", use_dictionary=False)
    data = out.getvalue()
    assert n * 2000 > UNPACKED_BYTES * len(data)

    def agree(values):
        values["summary"].update(rows=n, counts={str(columns["category"][0]): n})

    assert "would unpack to" in refused(edited({**members, name: data}, 2, agree))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda v: v.update(command="rm"), "command"),
        (lambda v: v.update(number=7), "says that it is commit 7"),
        (lambda v: v.update(time="yesterday"), "time"),
        (lambda v: v["changes"].update(session=5), "session"),
        (lambda v: v["changes"].update(session=-1), "session"),
        (lambda v: v["changes"].update(goto=1), "cannot change"),
        (lambda v: v["changes"]["categories"][0].update(id=10**9), "ids"),
        (lambda v: v["changes"]["categories"][0].update(name=None), "name"),
        (lambda v: v["changes"]["categories"][0].update(birth=10**6), "born"),
        (lambda v: v["changes"].update(posteriors=[0, 0, 1, 2]), "posteriors"),
        (lambda v: v["changes"].update(posteriors=[0]), "posterior"),
        (lambda v: v["summary"].update(rows=-3), "rows"),
        (lambda v: v["summary"].update(counts={"0": 10**15}), "rows"),
        (lambda v: v["summary"].update(counts={"77": 24}), "unknown category 77"),
        (lambda v: v["summary"].update(seconds=-1), "seconds"),
        (lambda v: v["summary"].pop("novel"), "novel"),
        (lambda v: v.update(parameters=[]), "parameters"),
        (lambda v: v["changes"]["embedder"].update(dimension=10**9), "dimension"),
        (lambda v: v["changes"].pop("model"), "model"),
    ],
)
def test_records_that_no_command_wrote(members, refused, edit, words):
    assert words in refused(edited(members, 2, edit))


def test_texts_that_utf8_cannot_hold_are_refused_in_fields_that_nobody_knows(members, refused):
    assert "UTF-8" in refused(edited(members, 2, lambda v: v["summary"].update(more="\ud800")))


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999"])
def test_numbers_that_are_none(members, refused, number):
    name = "commits/000002/commit.json"
    values = json.loads(members[name])
    values["summary"]["seconds"] = "SECONDS"
    refused({**members, name: json.dumps(values).encode().replace(b'"SECONDS"', number)})


def test_deep_nesting_does_not_exhaust_the_stack(members, refused):
    name = "commits/000002/commit.json"
    refused({**members, name: b'{"parameters": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"})


@pytest.mark.parametrize("jpeg", ["not base64!", "aGVsbG8=", 3, "x" * 200_000])
def test_thumbnails_are_pictures(members, refused, jpeg):
    name = "commits/000003/excerpts.json"
    values = json.loads(members[name])
    next(iter(values.values()))[0]["jpeg"] = jpeg
    refused({**members, name: json.dumps(values).encode()})


def test_what_is_no_zip_at_all(refused):
    assert "not a complete export" in refused(b"hello", WorkspaceDamaged)


@pytest.mark.parametrize(
    ("commit", "edit", "words"),
    [
        (9, lambda v: v["changes"]["categories"][0].update(status="dropped", into=[]), "splits 0"),
        (9, lambda v: v["files"].pop("corrections.safetensors"), "corrections.safetensors"),
        (10, lambda v: v["changes"].update(seedlings=0), "seedlings where it should not"),
        (10, lambda v: v["changes"].update(seedlings=1, bed=[3]), "files"),
        (10, lambda v: v["changes"].update(seedlings=0, bed=[3]), "keeps seedlings that are not there"),
        (3, lambda v: v["changes"].update(lineage={"seedlings": [4], "grown": {}}), "of those that are not"),
        (
            3,
            lambda v: v["changes"].update(lineage={"seedlings": [], "grown": {"77": 0}}),
            "of those that are",
        ),
    ],
)
def test_corrections_that_no_command_wrote(members, refused, commit, edit, words):
    assert words in refused(edited(members, commit, edit))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("commit", 99, "items that are not there"),
        ("commit", -1, "items that are not there"),
        ("row", 10**6, "items that are not there"),
        ("category", 77, "unknown categories"),
        ("state", 99, "corrections.safetensors"),
        ("lessons.category", 77, "unknown categories"),
        ("lessons.item", 10**6, "corrections.safetensors"),
        ("lessons.weight", np.nan, "weights"),
        ("lessons.weight", -1.0, "weights"),
        ("vectors", np.inf, "embeddings"),
    ],
)
def test_corrections_of_what_is_not_there(members, refused, key, value, words):
    assert words in refused(with_array(members, "commits/000008/corrections.safetensors", key, value))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("category", 77, "not those that the record counts"),
        ("count", 10**6, "not those that the record counts"),
        ("shift", np.inf, "not finite"),
        ("shift", np.nan, "not finite"),
        ("spread", -1.0, "not variances"),
        ("halves", -np.inf, "not finite"),
        ("smaller", 0.75, "not variances and shares"),
    ],
)
def test_traces_that_no_session_leaves(members, refused, key, value, words):
    name = "commits/000003/traces.safetensors"
    assert words in refused(with_array(members, name, key, value))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"dismissed": {"question": "same-0-1"}},
        {"dismissed": {"question": "", "categories": [], "probability": 0.5, "affected": 1}},
        {"dismissed": {"question": "x", "categories": [], "probability": 5, "affected": 1}},
        {"dismissed": {"question": "x", "categories": [-1], "probability": 0.5, "affected": 1}},
        {
            "dismissed": {"question": "x", "categories": [], "probability": 0.5, "affected": 1},
            "categories": [],
        },
    ],
)
def test_dismissals_that_are_none(members, refused, changes):
    assert refused(edited(members, 4, lambda v: v.update(command="dismiss", changes=changes)))

"""Plug-ins: the package of the documents really installed, and packages that are broken in every way."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer, Workspace, plugins
from vbcgcd.embed import embedder
from vbcgcd.errors import InputError
from vbcgcd.items import Items, read_items
from vbcgcd.plugins import call_plugin, entry_points_of, list_plugins, load_plugin

PAGE = Path(__file__).parents[1] / "docs" / "plugins.md"


def offer(folder, name, module, **entries):
    """Put a distribution with one module and entry points where Python finds it, as pip would."""
    (folder / f"{name}.py").write_text(module)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = (f"[vbcgcd.{group}]\n" + "\n".join(lines) for group, lines in entries.items())
    (about / "entry_points.txt").write_text("\n".join(groups) + "\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path of Python that is taken away again, with what was imported from it."""
    before = set(sys.modules)
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def notes(path):
    words = {"fruit": ("apple", "banana", "cherry"), "tool": ("hammer", "wrench", "drill")}
    rng = np.random.default_rng(0)
    lines = [
        f"{label}\t{' '.join(rng.choice(some, 4))} {'x' * int(rng.integers(4))}"
        for label, some in words.items()
        for _ in range(12)
    ]
    path.write_text("\n".join(lines) + "\n")


def test_the_package_of_the_documents(tmp_path):
    source, target = tmp_path / "vbcgcd-notes", tmp_path / "site"
    source.mkdir()
    page = PAGE.read_text()
    [about], [module] = (re.findall(f"```{kind}\n(.*?)```", page, flags=re.S) for kind in ("toml", "py"))
    (source / "pyproject.toml").write_text(about)
    (source / "vbcgcd_notes.py").write_text(module)
    assert sum(bool(line.strip()) for line in module.splitlines()) <= 14
    install = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(target),
        str(source),
    ]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *install], check=True)
    notes(tmp_path / "monday.notes")
    environment = {**os.environ, "PYTHONPATH": str(target), "VBCGCD_CACHE": str(tmp_path / "cache")}

    def run(*words, cwd=tmp_path):
        done = subprocess.run(
            [sys.executable, "-m", "vbcgcd", *words], env=environment, cwd=cwd, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    table = [line.rstrip() for line in run("plugins").splitlines() if line.strip(" ─")]
    shown = page.partition("$ vbcgcd plugins\n")[2].partition("$ ")[0]
    assert [line.split() for line in table] == [line.split() for line in shown.splitlines()]
    run("init", "notes", "--with", "letters")
    run("learn", "../monday.notes", cwd=tmp_path / "notes")
    assert "fruit" in run("predict", "banana apple cherry banana", cwd=tmp_path / "notes")


BROKEN = {
    "import nothing_of_the_kind": "ModuleNotFoundError",
    "raise RuntimeError('no licence\\nat all')": "no licence",
    "raise SystemExit(3)": "SystemExit",
    "x = 1": "AttributeError",
    "make = read = cluster = 3": "not a function but of the type int",
    "def make(: pass": "SyntaxError",
}


@pytest.mark.parametrize("module", BROKEN)
def test_a_broken_package_is_named_and_harms_nothing_else(site, tmp_path, module):
    entries = {"embedders": ["bad = broken:make"], "readers": ["bad = broken:read"]}
    offer(site, "broken", module, **entries, clusterers=["bad = broken:cluster"])
    offer(site, "sound", "def read(path, **columns): return None", readers=["good = sound:read"])
    (tmp_path / "x.bad").write_text("x")
    rows, labels = (
        np.repeat(np.eye(4), 6, axis=0) + np.linspace(0, 0.1, 24)[:, None],
        np.repeat([0, 1, 2, 3], 6),
    )
    model = CategoryDiscoverer(cluster="plugin:bad").fit(rows, labels)
    assert model.predict(rows[:1]) == [0]
    uses = (
        lambda: embedder("bad", kind="text"),
        lambda: read_items(tmp_path / "x.bad"),
        lambda: model.discover(rows + 5, n_novel=1),
    )
    for use in uses:
        with pytest.raises(InputError, match=r"the package broken 1\.0") as caught:
            use()
        assert BROKEN[module] in str(caught.value)
        assert "\n" not in str(caught.value)
    problems = {info.package: info.problem for info in list_plugins()}
    assert BROKEN[module] in problems["broken"]
    assert problems["sound"] == ""
    assert embedder(kind="embedding").name == "array"


def test_two_packages_with_one_name_are_refused(site):
    for name in ("one", "two"):
        offer(site, name, "def read(path): ...", readers=[f"doc = {name}:read"])
    with pytest.raises(InputError, match=r"one 1\.0.*two 1\.0|two 1\.0.*one 1\.0"):
        load_plugin("vbcgcd.readers", "doc")


def test_a_plug_in_that_fails_is_named(site, tmp_path):
    offer(site, "weak", "def read(path, **columns): 1 / 0", readers=["zero = weak:read"])
    (tmp_path / "a.zero").write_text("x")
    with pytest.raises(InputError, match=r"weak 1\.0.*ZeroDivisionError: division by zero"):
        read_items(tmp_path / "a.zero")


def test_a_reader_gets_what_was_chosen_and_has_to_return_items(site, tmp_path):
    module = (
        "from vbcgcd.items import Items\n"
        "def read(path, **columns): return Items('text', [repr(sorted(columns))], ['0'], str(path))\n"
        "def number(path, **columns): return 3\n"
    )
    offer(site, "some", module, readers=["tick = some:read", "num = some:number"])
    for name in ("a.tick", "A.TICK", "a.num"):
        (tmp_path / name).write_text("x")
    assert read_items(tmp_path / "a.tick").values == ["[]"]
    assert read_items(tmp_path / "A.TICK", text="body", split=("a", "b")).values == ["['split', 'text']"]
    with pytest.raises(InputError, match="returned a value of the type int"):
        read_items(tmp_path / "a.num")
    with pytest.raises(InputError, match="Unsupported file type"):
        read_items(PAGE)


def test_a_clusterer_takes_part_in_a_session(site):
    module = (
        "import numpy as np\n"
        "def halves(rows, n_clusters, rng): return (rows[:, 0] > np.median(rows[:, 0])).astype(int)\n"
    )
    offer(site, "cut", module, clusterers=["halves = cut:halves"])
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(8 * k, 1.0, size=(20, 3)) for k in range(4)])
    labels = np.repeat([0, 1], 20)
    known = {"relabel": "none", "unassigned": False, "random_state": 0}
    model = CategoryDiscoverer(cluster="plugin:halves", **known).fit(rows[:40], labels)
    same = CategoryDiscoverer(cluster=importlib.import_module("cut").halves, **known).fit(rows[:40], labels)
    ours, theirs = (m.discover(rows[40:], n_novel=2) for m in (model, same))
    assert ours.labels_.tolist() == theirs.labels_.tolist()
    assert ours.n_novel == 2


@pytest.fixture
def imported(site, tmp_path):
    """An imported workspace whose model names the clusterer of a plug-in, and data for it."""
    module = "import numpy as np\ndef one(rows, n_clusters, rng): return np.zeros(len(rows), dtype=int)\n"
    offer(site, "spy", module, clusterers=["one = spy:one"])
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(8 * k, 1.0, size=(20, 3)) for k in range(3)])
    here = Workspace.init(tmp_path / "w", model={"cluster": "plugin:one"})
    here.learn(rows[:40], np.repeat(["a", "b"], 20))
    here.export(tmp_path / "w.zip")
    return Workspace.import_(tmp_path / "w.zip", tmp_path / "copy"), rows


def test_an_imported_workspace_loads_no_plug_in_until_it_is_confirmed(imported):
    copy, rows = imported
    assert copy.unconfirmed() == {"model": "runs the code of a plug-in"}
    with pytest.raises(InputError, match="vbcgcd config model") as caught:
        copy.discover(rows[40:], n_novel=1)
    assert caught.value.option == "model"
    assert "spy" not in sys.modules
    assert copy.predict(rows[:1]).name == ["a"]
    with pytest.raises(InputError, match="cannot be changed"):
        copy.configure(model={"cluster": "kmeans"})
    copy.configure(model=copy.config()["model"])
    assert copy.unconfirmed() == {}
    assert copy.discover(rows[40:], n_novel=1).n_novel == 1
    assert "spy" in sys.modules


def test_the_command_line_confirms_what_the_message_says(imported, monkeypatch):
    import shlex

    from typer.testing import CliRunner

    from vbcgcd.cli import app

    copy, rows = imported
    with pytest.raises(InputError) as caught:
        copy.discover(rows[40:], n_novel=1)
    [line] = re.findall(r"confirm it with '(vbcgcd .*)'", str(caught.value))
    monkeypatch.chdir(copy.path)
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exit_code == 0, result.output
    assert Workspace(copy.path).unconfirmed() == {}


def test_a_workspace_opens_without_the_plug_in_it_was_made_with(imported, site):
    copy, rows = imported
    copy.configure(model=copy.config()["model"])
    for path in site.glob("spy*"):
        path.rename(path.with_name(f"gone-{path.name}.old"))
    again = Workspace(copy.path)
    assert again.predict(rows[:1]).name == ["a"]
    with pytest.raises(InputError, match="no clusterer 'one'"):
        again.discover(rows[40:], n_novel=1)


def test_unknown_names_and_groups():
    assert entry_points_of("vbcgcd.nothing") == {}
    with pytest.raises(InputError, match="no namer 'x'"):
        call_plugin("vbcgcd.namers", "x")
    with pytest.raises(InputError, match="plugin:NAME"):
        CategoryDiscoverer(cluster="kmean").fit([[0.0], [1.0]], [0, 1])
    assert isinstance(Items, type)
    assert set(plugins.GROUPS.values()) == {"embedder", "namer", "clusterer", "reader"}

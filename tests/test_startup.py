"""What is not imported: a command waits for its own modules only. No clock is read here."""

import subprocess
import sys

import pytest

HEAVY = (
    "PIL",
    "joblib",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "sklearn",
    "tokenizers",
    "torch",
    "transformers",
)
#: Rooms that compute; whoever only looks does not enter them.
ROOMS = ("vbcgcd.bayes", "vbcgcd.discovery", "vbcgcd.model", "vbcgcd.study", "vbcgcd.embed.run")


def imported(program, cwd=None):
    """The heavy modules and rooms that a program imports in a fresh interpreter."""
    listing = f"import sys; print(*(m for m in {HEAVY + ROOMS} if m in sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{listing}"], capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def command(*words):
    return (
        f"from vbcgcd.cli import app\n"
        f"try:\n    app({list(words)!r}, prog_name='vbcgcd')\n"
        f"except SystemExit as end:\n    assert not end.code, end.code"
    )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A workspace of vectors with labelled and discovered categories."""
    import numpy as np

    from vbcgcd import Workspace

    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(10 * k, 1.0, size=(20, 4)) for k in range(4)])
    labels = np.repeat(["a", "b", "c", "d"], 20)
    folder = tmp_path_factory.mktemp("start") / "w"
    here = Workspace.init(folder, model={"count": "evidence"})
    here.learn(rows[:60], labels[:60])
    here.discover(rows[50:], n_novel=1)
    return folder


@pytest.mark.parametrize(
    "program",
    [
        "import vbcgcd",
        "import vbcgcd.errors",
        "from vbcgcd import Workspace, InputError, NotFittedError",
        "from vbcgcd.workspace import Workspace, CategoryInfo, SessionRecord",
        command("--help"),
        command("discover", "--help"),
        command("--version"),
    ],
)
def test_imports_and_help_bring_nothing_heavy(program):
    assert imported(program) == set()


@pytest.mark.parametrize(
    "words", [("status",), ("sessions",), ("sessions", "--all"), ("config",), ("config", "reject")]
)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_looking_at_a_workspace_brings_nothing_heavy(workspace, words, form):
    assert imported(command(*words, *form), cwd=workspace) == set()


def test_completion_of_names_brings_nothing_heavy(workspace):
    program = (
        "import os; os.environ.update(_VBCGCD_COMPLETE='complete_bash', "
        "COMP_WORDS='vbcgcd categories show a', COMP_CWORD='3')\n" + command()
    )
    assert imported(program, cwd=workspace) == set()


def test_the_list_of_categories_brings_only_what_reads_its_files(workspace):
    loaded = imported(command("categories"), cwd=workspace)
    assert loaded <= {"pyarrow", "scipy.linalg", "vbcgcd.bayes", "vbcgcd.discovery"}


def test_predictions_bring_neither_scikit_learn_nor_torch(workspace):
    program = (
        "import numpy as np, vbcgcd\n"
        "vbcgcd.Workspace('.').predict(np.zeros((1, 4))); vbcgcd.Workspace('.').categories()"
    )
    loaded = imported(program, cwd=workspace)
    assert not loaded & {"sklearn", "pandas", "torch", "scipy.stats", "scipy.optimize", "tokenizers"}

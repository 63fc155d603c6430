import functools
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import vbcgcd

HEAVY = ["torch", "transformers", "matplotlib", "pandas", "polars", "starlette"]
LISTING = f"import sys; print(*(m for m in {HEAVY} if m in sys.modules))"


def run(program):
    """Standard output of a program in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@functools.cache
def imported_by_scikit_learn():
    """Heavy libraries that come with scikit-learn itself."""
    return run(f"import sklearn.base; {LISTING}")


@pytest.mark.parametrize(
    "use",
    [
        "import vbcgcd",
        "import vbcgcd; vbcgcd.CategoryDiscoverer()",
        "import vbcgcd; m = vbcgcd.CategoryDiscoverer().fit([[0, 1], [0, 2], [9, 8], [9, 7]], [0, 0, 1, 1]); "
        "m.predict([[0, 1]]); m.predict_proba([[0, 1]]); m.score_samples([[0, 1]])",
    ],
    ids=["import", "touch", "use"],
)
def test_no_heavy_library_is_imported(use):
    # scikit-learn 1.9 imports pandas itself where it is installed; nothing else may come on top.
    unavoidable = "" if use == "import vbcgcd" else imported_by_scikit_learn()
    assert run(f"{use}; {LISTING}") == unavoidable
    assert unavoidable in ("", "pandas")


def test_import_alone_brings_no_scikit_learn():
    assert run("import vbcgcd, sys; print('sklearn' in sys.modules, 'numpy' in sys.modules)") == "False False"


@pytest.mark.parametrize("name", vbcgcd.__all__)
def test_public_names_resolve_and_are_described(name):
    value = getattr(vbcgcd, name)
    assert name in dir(vbcgcd)
    if name != "__version__":
        assert value.__doc__
        assert value.__doc__.strip()
        assert value.__name__ == name


def test_star_import_gives_exactly_the_public_names():
    space = {}
    exec("from vbcgcd import *", space)
    assert set(space) - {"__builtins__"} == set(vbcgcd.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        vbcgcd.nothing_of_the_kind  # noqa: B018


def test_version_is_that_of_the_distribution():
    assert isinstance(vbcgcd.__version__, str)
    assert vbcgcd.__version__ == importlib.metadata.version("vbcgcd")


def test_public_methods_are_described():
    methods = [v for k, v in vars(vbcgcd.CategoryDiscoverer).items() if callable(v) and not k.startswith("_")]
    assert methods
    assert all(m.__doc__ for m in methods)


def test_errors_are_of_the_kinds_users_expect():
    from sklearn.exceptions import NotFittedError

    assert issubclass(vbcgcd.InputError, ValueError)
    assert issubclass(vbcgcd.InputError, vbcgcd.VbcgcdError)
    assert issubclass(vbcgcd.NotFittedError, vbcgcd.VbcgcdError)
    for kind in (vbcgcd.NotFittedError, NotFittedError, ValueError, AttributeError):
        with pytest.raises(kind):
            vbcgcd.CategoryDiscoverer().predict([[0.0]])


def test_the_lock_pins_every_development_package_with_hashes():
    root = Path(__file__).parents[1]
    text = (root / "requirements-dev.lock").read_text()
    assert "://" not in text
    entries = re.split(r"\n(?=[a-z0-9])", text.split("\n", 2)[2])
    pinned = {re.match(r"([a-z0-9.-]+)==", entry)[1] for entry in entries if entry.strip()}
    assert all("--hash=sha256:" in entry for entry in entries if entry.strip())
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        # Of the rivals, dev has a small one; make test-cluster installs what it needs.
        *(p for name, part in extras.items() if name not in ("rivals", "cluster") for p in part),
    ]
    names = {re.match(r"[A-Za-z0-9.-]+", line)[0].lower() for line in wanted} - {"vbcgcd"}
    assert names <= pinned

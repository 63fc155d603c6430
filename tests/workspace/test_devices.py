"""The device of a workspace's model: refused where it is not, and no hindrance in a workspace that moved."""

import shutil
import warnings

import numpy as np
import pytest

from vbcgcd.errors import InputError, WorkspaceWarning
from vbcgcd.workspace import Workspace

MODEL = {"count": "evidence", "n_components": 6, "prior_strength": 20.0}
torch_math = pytest.importorskip("vbcgcd.devices.torch_math")


@pytest.fixture(scope="module")
def learned(blobs, tmp_path_factory):
    """A workspace that computes with torch, and its export."""
    path = tmp_path_factory.mktemp("device")
    workspace = Workspace.init(path / "w", model={**MODEL, "device": "cpu"})
    workspace.learn(blobs.rows, blobs.labels)
    workspace.export(path / "w.zip")
    return path


@pytest.fixture
def elsewhere(monkeypatch):
    """A machine on which torch has no device."""

    def choose(device):
        raise InputError(f"device {device!r} is not available on this machine.", option="device")

    monkeypatch.setattr(torch_math, "choose", choose)


@pytest.fixture
def distances(monkeypatch):
    """Devices on which distances were computed."""
    devices, before = [], torch_math.distances

    def computed(*arguments):
        devices.append(arguments[-1])
        return before(*arguments)

    monkeypatch.setattr(torch_math, "distances", computed)
    return devices


def test_a_device_that_is_not_here_is_refused_and_nothing_is_written(tmp_path, animals):
    with pytest.raises(InputError, match="'abacus' is not available on this machine; use 'auto', 'cpu'"):
        Workspace.init(tmp_path / "new", model={"device": "abacus"})
    assert not (tmp_path / "new").exists()
    before = animals.config()
    with pytest.raises(InputError, match="'abacus' is not available") as caught:
        animals.configure(model={**before["model"], "device": "abacus"})
    assert caught.value.option == "device"
    assert animals.config() == before


def test_the_device_may_change_after_the_base_session_and_nothing_else_of_the_model(
    learned, blobs, tmp_path, distances
):
    workspace = Workspace.open(shutil.copytree(learned / "w", tmp_path / "w"))
    on_device = workspace.predict(blobs.probe)
    assert set(distances) == {"cpu"}
    distances.clear()
    workspace.configure(model=MODEL)
    plain = workspace.predict(blobs.probe)
    assert distances == []
    np.testing.assert_allclose(
        [p["probability"] for p in on_device], [p["probability"] for p in plain], atol=1e-4
    )
    with pytest.raises(InputError, match="model cannot be changed"):
        workspace.configure(model={**MODEL, "device": "cpu", "n_components": 5})
    workspace.undo()
    assert workspace.config()["model"]["device"] == "cpu"
    workspace.predict(blobs.probe)
    assert set(distances) == {"cpu"}


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("imported", [False, True])
def test_a_workspace_that_moved_says_once_that_numpy_computes(learned, blobs, tmp_path, imported):
    if imported:
        workspace = Workspace.import_(learned / "w.zip", tmp_path / "w")
    else:
        workspace = Workspace.open(shutil.copytree(learned / "w", tmp_path / "w"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert workspace.config()["model"]["device"] == "cpu"
        workspace.configure(reject=0.05)
        workspace.configure(model={**MODEL, "device": "cpu"})  # as it is
    with pytest.warns(WorkspaceWarning, match="model.device is 'cpu'.*not available here") as told:
        names = [category.name for category in workspace.categories()]
    assert (names, len(told)) == (["cat", "dog", "owl"], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert workspace.discover(blobs.batch, n_novel=2).n_novel == 2
        workspace.predict(blobs.probe)
        workspace.configure(model={**MODEL, "device": "auto"})
        workspace.predict(blobs.probe)


@pytest.mark.usefixtures("elsewhere")
def test_a_base_session_needs_its_device(blobs, tmp_path, monkeypatch):
    with monkeypatch.context() as here:
        here.setattr(torch_math, "choose", str)
        workspace = Workspace.init(tmp_path / "w", model={**MODEL, "device": "cpu"})
    with pytest.raises(InputError, match="'cpu' is not available"):
        workspace.learn(blobs.rows, blobs.labels)
    workspace.configure(model={**MODEL, "device": None})
    assert workspace.learn(blobs.rows, blobs.labels).rows == len(blobs.rows)

"""Ray gives the results of every engine, and one clear error for each kind of trouble."""

import pytest
from lake import DiesOnce, Fails, FailsToLoad, Times

from vbcgcd.engine import Engine, WorkersLost, open_engine
from vbcgcd.errors import InputError, MissingFileError


def test_results_come_in_the_order_of_the_blocks(ray_engine):
    assert isinstance(ray_engine, Engine)
    assert list(ray_engine.map(Times(3), range(40))) == [3 * i for i in range(40)]
    assert list(ray_engine.map(Times(5), range(3))) == [0, 5, 10]
    assert list(ray_engine.map(Times(5), [])) == []
    assert sorted(ray_engine.sweep(Times(3), range(10))) == [3 * i for i in range(10)]
    assert list(ray_engine.sweep(Times(5), [])) == []


@pytest.mark.parametrize("way", ["map", "sweep"])
def test_errors_are_raised_as_they_were(ray_engine, way):
    run = getattr(ray_engine, way)
    with pytest.raises(MissingFileError, match="gone") as raised:
        list(run(Fails(5, MissingFileError("gone", option="data")), range(20)))
    assert raised.value.option == "data"
    with pytest.raises(InputError, match="no such embedder"):
        list(run(FailsToLoad(InputError("no such embedder")), range(4)))
    assert sorted(run(Times(2), range(3))) == [0, 2, 4]


def test_a_worker_that_dies_is_replaced(ray_engine, tmp_path):
    assert list(ray_engine.map(DiesOnce(7, str(tmp_path / "mark")), range(20))) == list(range(20))


def test_a_block_that_kills_every_worker_is_named(ray_engine):
    with pytest.raises(WorkersLost, match=r"4 workers were lost .* worked on 3"):
        list(ray_engine.map(DiesOnce(3), range(8)))


def test_a_cluster_without_a_free_processor_is_not_waited_for_forever(ray_engine):
    assert len(list(ray_engine.map(Times(1), range(8)))) == 8  # and it keeps both processors
    with (
        open_engine("ray", patience=2.0) as second,
        pytest.raises(WorkersLost, match="No processor of the Ray cluster was free for 2 seconds"),
    ):
        list(second.map(Times(1), range(4)))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no.such.host.invalid:6379"])
def test_a_cluster_that_cannot_be_reached(monkeypatch, address):
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(InputError, match=f"The Ray cluster at {address} cannot be reached") as raised:
        open_engine("ray", address=address)
    assert raised.value.option == "address"


@pytest.mark.parametrize(
    ("address", "message"),
    [("here", "must be HOST:PORT or 'auto', got 'here'"), ("ray://a:1", "address of the Ray Client")],
)
def test_addresses_that_are_none(monkeypatch, address, message):
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(InputError, match=message):
        open_engine("ray", address=address)


@pytest.mark.parametrize("way", ["map", "sweep"])
@pytest.mark.parametrize("name", ["vbcgcd", "Python", "Ray"])
def test_other_versions_on_a_node_are_refused(ray_engine, monkeypatch, name, way):
    from vbcgcd.engine import ray as module

    ray_engine._let_go()  # versions are compared when a worker starts
    ours = module._versions()
    monkeypatch.setattr(module, "_versions", lambda: {**ours, name: "0.0.1"})
    if way == "sweep":
        monkeypatch.setattr(module, "_versions_there", lambda: ours)
    with pytest.raises(InputError, match=rf"A node .* has {name} {ours[name]}, but here it is 0.0.1"):
        list(getattr(ray_engine, way)(Times(1), range(3)))


def test_ray_itself_refuses_other_versions(monkeypatch):
    from vbcgcd.engine import ray as module

    def mismatch(**options):
        raise RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.1\n    Python: 3.9")

    monkeypatch.setattr(module.ray, "init", mismatch)
    monkeypatch.setattr(module, "_check_reachable", lambda address: None)
    monkeypatch.setattr(module.ray, "is_initialized", lambda: False)
    with pytest.raises(InputError, match=r"runs other versions: .* Ray: 2.1 Python: 3.9 Install the same"):
        open_engine("ray", address="10.0.0.5:6379")

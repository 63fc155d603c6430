"""Every engine gives the same results in the same order, and says what went wrong."""

import os

import pytest
from lake import DiesOnce, Fails, FailsToLoad, FailsUnreadably, Threads, Times

from vbcgcd.engine import Engine, Work, WorkersLost, open_engine
from vbcgcd.engine.processes import processors
from vbcgcd.errors import InputError, MissingFileError


@pytest.fixture(scope="module")
def processes():
    with open_engine("processes", workers=2) as engine:
        yield engine


@pytest.fixture(params=["here", "processes"])
def engine(request):
    if request.param == "here":
        return open_engine("here")
    return request.getfixturevalue("processes")


def test_it_is_an_engine_and_work_is_work(engine):
    assert isinstance(engine, Engine)
    assert isinstance(Times(2), Work)


def test_results_come_in_the_order_of_the_blocks(engine):
    assert list(engine.map(Times(3), range(40))) == [3 * i for i in range(40)]
    assert list(engine.map(Times(5), range(3))) == [0, 5, 10]
    assert list(engine.map(Times(5), [])) == []


@pytest.mark.parametrize("error", [InputError("bad shard", option="data"), MissingFileError("gone")])
def test_an_error_of_a_block_is_raised_as_it_was(engine, error):
    with pytest.raises(type(error), match=str(error)) as raised:
        list(engine.map(Fails(5, error), range(20)))
    assert raised.value.option == error.option
    assert list(engine.map(Times(2), range(5))) == [0, 2, 4, 6, 8]  # and the engine goes on


def test_work_that_cannot_be_loaded_says_why(engine):
    with pytest.raises(InputError, match="no such embedder"):
        list(engine.map(FailsToLoad(InputError("no such embedder")), range(4)))


def test_results_that_nobody_fetches_stop_the_work(engine):
    results = engine.map(Times(2), range(1000))
    assert next(results) == 0
    results.close()
    assert list(engine.map(Times(2), range(3))) == [0, 2, 4]


def test_a_process_that_dies_is_replaced(processes, tmp_path):
    work = DiesOnce(7, str(tmp_path / "mark"))
    assert list(processes.map(work, range(20))) == list(range(20))
    assert (tmp_path / "mark").exists()


def test_a_block_that_kills_every_worker_is_named(processes):
    with pytest.raises(WorkersLost, match=r"4 workers were lost .* worked on 3: .*SIGKILL.*Memory"):
        list(processes.map(DiesOnce(3), range(8)))
    assert list(processes.map(Times(1), range(3))) == [0, 1, 2]


def test_an_error_that_cannot_be_read_back_is_told_in_words(processes):
    with pytest.raises(RuntimeError, match="Unreadable: both"):
        list(processes.map(FailsUnreadably(), range(3)))


def test_processes_use_one_thread_each(processes):
    assert set(processes.map(Threads(), range(4))) == {"1"}


def test_work_that_cannot_be_sent_is_refused(processes):
    class Local:
        def load(self):
            return abs

    with pytest.raises(InputError, match="Local cannot be sent to workers"):
        list(processes.map(Local(), [1]))


def test_only_a_few_blocks_are_taken_ahead(processes):
    taken = []

    class Watched(list):
        def __getitem__(self, place):
            taken.append(place)
            return super().__getitem__(place)

    results = processes.map(Times(1), Watched(range(500)))
    next(results)
    assert max(taken) < 20
    results.close()


def test_processors_are_counted_where_the_system_does_not_tell_which_are_ours(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert processors() == os.cpu_count()

"""One BLAS thread, restored afterwards, and work divided in a way that does not change it."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vbcgcd.bayes.threads import WORTH_A_THREAD, in_parallel, one_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_inside_and_as_many_as_before_outside():
    with threadpool_limits(2):
        with one_thread():
            assert blas_threads() == {1}
            with one_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_an_error_restores_the_limit():
    with threadpool_limits(2):
        with pytest.raises(RuntimeError), one_thread():
            raise RuntimeError
        assert blas_threads() == {2}


def test_overlapping_threads_restore_the_limit():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_thread():
            inside.set()
            leave.wait(5)

    with threadpool_limits(2):
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(5)
        with one_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}  # the other still needs it
        leave.set()
        thread.join()
        assert blas_threads() == {2}


def test_it_decorates_functions():
    @one_thread()
    def inside():
        return blas_threads()

    with threadpool_limits(2):
        assert inside() == {1}
        assert blas_threads() == {2}


@pytest.mark.parametrize("work", [1, WORTH_A_THREAD])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_order(threads, work):
    with threadpool_limits(threads), one_thread():
        assert list(in_parallel(lambda i: i * i, range(50), work=work)) == [i * i for i in range(50)]


def test_only_heavy_work_leaves_this_thread(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})

    def who(_):
        return threading.get_ident()

    here = {threading.get_ident()}
    with threadpool_limits(2), one_thread():
        assert set(in_parallel(who, range(8), work=1)) == here
        assert not here & set(in_parallel(who, range(8), work=WORTH_A_THREAD))
    with threadpool_limits(1), one_thread():
        assert set(in_parallel(who, range(8), work=WORTH_A_THREAD)) == here


def test_work_inside_work_is_not_divided_again(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})

    def inner(_):
        return threading.get_ident()

    def outer(_):
        return {threading.get_ident()} == set(in_parallel(inner, range(4), work=WORTH_A_THREAD))

    with threadpool_limits(2), one_thread():
        assert all(in_parallel(outer, range(4), work=WORTH_A_THREAD))


def test_few_items_are_taken_ahead_and_errors_come_out(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    taken = []

    def items():
        for i in range(1000):
            taken.append(i)
            yield i

    def fails(i):
        if i == 3:
            raise ZeroDivisionError
        return i

    with threadpool_limits(2), one_thread(), pytest.raises(ZeroDivisionError):
        list(in_parallel(fails, items(), work=WORTH_A_THREAD))
    assert len(taken) < 30


def test_matrices_side_by_side_have_the_same_bits(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    matrices = np.random.default_rng(0).normal(size=(6, 200, 130))
    products = {}
    for threads in (1, 2):
        with threadpool_limits(threads), one_thread():
            products[threads] = list(in_parallel(lambda m: m.T @ m, matrices, work=200 * 130**2))
    np.testing.assert_array_equal(products[1], products[2])

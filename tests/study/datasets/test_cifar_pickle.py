import os
import pickle

import numpy as np
import pytest

from vbcgcd.study.datasets.cifar_pickle import read_pickle


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dictionaries_lists_and_arrays_of_bytes(protocol, order):
    rows = np.asarray(np.arange(12, dtype=np.uint8).reshape(3, 4), order=order)
    content = {b"data": rows, b"fine_labels": [1, 2], "names": [b"a", "b"]}
    read = read_pickle(pickle.dumps(content, protocol=protocol))
    np.testing.assert_array_equal(read["data"], rows)
    assert (read["fine_labels"], read["names"]) == ([1, 2], ["a", "b"])


class Evil:
    def __reduce__(self):
        return os.system, ("echo harm",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (Evil(), "(posix|nt).system"),
        ({b"data": Evil()}, "not allowed"),
        (print, "builtins.print|__builtin__.print"),
        ([1], "a list"),
        ({b"data": np.zeros(2)}, "not bytes"),
        ({b"data": np.array([{}], dtype=object)}, "not bytes"),
    ],
)
def test_everything_else_is_refused(content, words, capfd):
    with pytest.raises(pickle.UnpicklingError, match=words):
        read_pickle(pickle.dumps(content, protocol=2))
    assert capfd.readouterr().out == ""


def test_every_truncation_is_one_kind_of_error():
    data = pickle.dumps({b"data": np.zeros((2, 3), np.uint8), b"fine_labels": [1, 2]}, protocol=2)
    for end in range(len(data)):
        with pytest.raises(pickle.UnpicklingError):
            read_pickle(data[:end])


def test_a_size_that_does_not_fit_the_shape():
    data = pickle.dumps({b"data": np.full((2, 3), 65, np.uint8)}, protocol=3)
    assert data.count(b"K\x02K\x03\x86") == 1
    with pytest.raises(pickle.UnpicklingError):
        read_pickle(data.replace(b"K\x02K\x03\x86", b"K\x02K\x04\x86"))

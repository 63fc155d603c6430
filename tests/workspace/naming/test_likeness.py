import numpy as np

from vbcgcd.workspace.naming.likeness import likeness


def test_the_two_nearest():
    assert likeness(np.array([0.1, 0.9, 0.5]), ["cat", "dog", "owl"]) == "like dog or owl"
    assert likeness(np.array([0.1]), ["cat"]) == "like cat"
    assert likeness(np.empty(0), []) == ""


def test_a_long_name_is_cut_between_words():
    long = "a very long name of a category that goes on and on without an end"
    assert (
        likeness(np.array([1.0, 0.5]), [long, "dog"])
        == "like a very long name of a category that goes on and on"
    )
    assert likeness(np.array([1.0, 0.5]), ["dog", long]) == "like dog"

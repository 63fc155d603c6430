import logging
import warnings

import numpy as np
import pytest

from vbcgcd.study.rivals.topics import admitting, quiet, wordless


@pytest.mark.parametrize("n_novel", range(6))
def test_the_limit_admits_as_many_topics_as_told(n_novel):
    similarity = np.array([0.9, 0.2, -0.5, 0.6, 1.0])
    assert (similarity < admitting(similarity, n_novel, 0.7)).sum() == n_novel


def test_without_a_number_the_default_decides():
    assert admitting(np.array([0.1]), None, 0.7) == 0.7
    assert (np.array([0.1, 0.2]) < admitting(np.array([0.1, 0.2]), 9, 0.7)).all()
    assert admitting(np.array([]), 3, 0.7) < -1


def test_quiet_silences_and_puts_everything_back(capsys):
    before = logging.root.manager.disable
    with quiet():
        print("noise")
        warnings.warn("noise", stacklevel=1)
    assert capsys.readouterr().out == ""
    assert logging.root.manager.disable == before
    assert len(wordless(3)) == 3

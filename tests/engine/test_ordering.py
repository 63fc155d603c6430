"""Blocks whose workers are lost, in every order: each is computed, and none twice in the results."""

from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.engine.ordering import TRIES, Outcome, in_order


class Scripted:
    """A pool that answers in a drawn order and loses what is drawn."""

    def __init__(self, workers, draws):
        self.workers, self.draws, self.under_way, self.lost = workers, iter(draws), {}, {}

    def free(self):
        return self.workers - len(self.under_way)

    def submit(self, place, block):
        assert place not in self.under_way
        self.under_way[place] = block

    def wait(self):
        draw = next(self.draws, 0)
        place = sorted(self.under_way)[draw % len(self.under_way)]
        block = self.under_way.pop(place)
        if draw % 5 == 4 and self.lost.get(place, 0) < TRIES - 1:
            self.lost[place] = self.lost.get(place, 0) + 1
            return [Outcome(place, lost="gone")]
        return [Outcome(place, value=-block)]

    def drop(self):
        self.under_way.clear()


@given(st.integers(1, 4), st.integers(0, 40), st.lists(st.integers(0, 99), max_size=120))
def test_results_are_those_of_one_worker(workers, n, draws):
    assert list(in_order(Scripted(workers, draws), range(n), workers)) == [-i for i in range(n)]

"""One workspace behind all requests: what is kept of it, and for how long."""

from vbcgcd.web.hub import KEPT, Hub


def test_an_answer_is_computed_once_for_each_state(desk):
    hub, computed = Hub(desk), []

    def compute(now):
        computed.append(now.head.number)
        return now.head.number

    assert hub.once("key", compute) == hub.once("key", compute) == desk.last_commit
    assert len(computed) == 1
    desk.rename(0, "cooking")
    assert hub.once("key", compute) == desk.last_commit
    assert len(computed) == 2


def test_few_answers_are_kept_however_many_are_asked_for(desk):
    hub, computed = Hub(desk), []

    def ask(key):
        return hub.once(key, lambda now: computed.append(key))

    for number in range(3 * KEPT):
        ask("often")
        ask(number)
    assert len(hub._answers) == KEPT
    assert computed.count("often") == 1
    ask(0)
    assert computed.count(0) == 2


def test_who_decided_is_forgotten_with_the_decision(desk):
    hub = Hub(desk)
    hub.write(lambda here: here.rename(0, "cooking"), seen=None, by="Ann")
    desk.rename(0, "kitchen")
    first, second = desk.snapshot().history.commits[-2:]
    assert first.parameters["by"] == "Ann"
    assert second.parameters.get("by") is None

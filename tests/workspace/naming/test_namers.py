import os
import time

import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace.naming.namers import Question, ask, check_answer, make_namer

QUESTION = Question(("lost my luggage",))


class Says:
    name = "says"

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def suggest(self, question):
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def asked(namer, n, taken=None, **options):
    answers = ask(namer, dict.fromkeys(range(n), QUESTION), taken or {}, **options)
    return [answer.name or answer.problem for answer in answers.values()]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (" Lost luggage\n", "Lost luggage"),
        ('"Lost luggage."', "Lost luggage"),
        ("**Lost luggage**", "Lost luggage"),
        ("失われた荷物", "失われた荷物"),
    ],
)
def test_answers_that_are_names(answer, name):
    assert check_answer(answer, []).name == name


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (None, "empty or no text"),
        (7, "empty or no text"),
        (" \n ", "empty or no text"),
        ('""', "non-empty"),
        ("Sure! Here it is:\nLost luggage", "2 lines"),
        ("word " * 30, "letters, at most 60"),
        ("lost\u202eluggage", "cannot be seen"),
        ("#12", "means the id"),
        ("none of these", "reserved"),
        ("lost luggage", "'lost luggage' is the name of another category"),
        ("Luggage lost", "'Luggage lost' has the words of 'lost luggage'"),
    ],
)
def test_answers_that_are_not(answer, problem):
    checked = check_answer(answer, ["lost luggage"])
    assert checked.name == ""
    assert problem in checked.problem
    assert "\n" not in checked.problem


def test_no_two_categories_get_the_same_name():
    first, second = asked(Says("Lost luggage", "lost luggage"), 2)
    assert first == "Lost luggage"
    assert "has the words of 'Lost luggage'" in second


def test_a_category_may_keep_its_name():
    assert asked(Says("lost luggage"), 1, {0: "lost luggage"}) == ["lost luggage"]


def test_a_namer_that_fails_twice_is_not_asked_again():
    namer = Says(RuntimeError("down\nreally"), SystemExit(3), "Lost luggage")
    first, second, third = asked(namer, 3)
    assert first == "RuntimeError: down really"
    assert second == "SystemExit: 3"
    assert "not asked" in third
    assert namer.asked == 2


def test_a_namer_that_fails_once_is_asked_again():
    assert asked(Says(OSError("once"), "Lost luggage"), 2) == ["OSError: once", "Lost luggage"]


def test_a_namer_that_never_returns():
    class Sleeps:
        name = "sleeps"

        def suggest(self, question):
            time.sleep(1)

    assert asked(Sleeps(), 1, seconds=0.02) == ["no answer within 0.02 seconds"]


def test_a_namer_of_another_package(monkeypatch):
    made = []

    def make(argument):
        made.append(argument)
        return Says("Lost luggage") if argument != "broken" else object()

    monkeypatch.setattr("vbcgcd.plugins.load_plugin", lambda group, name: make)
    assert make_namer("theirs").suggest(QUESTION) == "Lost luggage"
    assert make_namer("theirs:some:thing").name == "says"
    assert made == [None, "some:thing"]
    with pytest.raises(InputError, match="without name and suggest"):
        make_namer("theirs:broken")


def test_no_such_namer():
    with pytest.raises(InputError, match="There is no namer 'absent'"):
        make_namer("absent:x")


@pytest.mark.parametrize("shown", [str, repr, lambda key: repr(key.encode())])
def test_no_error_of_a_namer_shows_the_key(monkeypatch, shown):
    monkeypatch.setenv("VBCGCD_NAMER_KEY", "SECRET\\KEY\n")

    class Fails:
        name = "fails"

        def suggest(self, question):
            raise ValueError(f"Invalid header value {shown('Bearer ' + os.environ['VBCGCD_NAMER_KEY'])}")

    problem = ask(Fails(), {1: Question(("a",))}, {})[1].problem
    assert problem.startswith("ValueError: Invalid header value")
    assert "SECRET" not in problem

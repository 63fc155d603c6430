"""Namers: what suggests a name for a category from some of its texts, such as a language model.

A namer is never needed and only asked by `suggest`. Whatever it does, the other suggestions stand: it has a
limited time, its errors become one line, and its answers are checked before anybody sees them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from vbcgcd.errors import InputError, VbcgcdError
from vbcgcd.names import skeleton
from vbcgcd.plugins import call_plugin
from vbcgcd.workspace.naming.forms import same_words
from vbcgcd.workspace.naming.rules import check_name
from vbcgcd.workspace.naming.words import tokens

GROUP = "vbcgcd.namers"
#: The only place that a key is taken from.
KEY = "VBCGCD_NAMER_KEY"
#: Letters of an answer at most.
LETTERS = 60
#: Seconds for one answer and for all, and failures in a row after which a namer is not asked again.
EACH, ALL, PATIENCE = 45.0, 300.0, 2
_QUOTES = "\"'`“”„‘’«»*"

__all__ = [
    "GROUP",
    "KEY",
    "Answer",
    "Namer",
    "NamerError",
    "Question",
    "ask",
    "check_answer",
    "make_namer",
    "without_key",
]


class NamerError(VbcgcdError):
    """A namer that gave no answer; its message is the reason alone."""


@dataclass(frozen=True)
class Question:
    """What a namer gets to know about a category.

    Parameters
    ----------
    texts : tuple of str
        Some typical texts, shortened.
    nearest : tuple of str
        Names of the most similar categories, from which the name should tell it apart.
    """

    texts: tuple[str, ...]
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A name, or why there is none.

    Parameters
    ----------
    name, problem : str
        One of them is empty.
    """

    name: str = ""
    problem: str = ""


@runtime_checkable
class Namer(Protocol):
    """Suggests names.

    Any object with this attribute and this method is a namer. A package offers its own under the entry point
    group ``vbcgcd.namers``: the entry is a function ``make(argument)`` that returns a namer; ``argument`` is
    what follows the colon in ``'name:argument'``, or None.

    Examples
    --------
    >>> class First:
    ...     name = "first"
    ...
    ...     def suggest(self, question):
    ...         return question.texts[0]
    >>> isinstance(First(), Namer)
    True
    """

    @property
    def name(self) -> str:
        """For people to read."""

    def suggest(self, question: Question) -> str:
        """One name of a few words; any error means that there is none."""


def make_namer(setting: str) -> Namer:
    """The namer that a setting names: ``openai:URL#MODEL``, or ``NAME`` or ``NAME:ARGUMENT`` of a plug-in."""
    kind, _, argument = setting.partition(":")
    if kind == "openai":
        from vbcgcd.workspace.naming.openai import openai_namer

        return openai_namer(argument)
    namer = call_plugin(GROUP, kind, argument or None)
    if not isinstance(namer, Namer):
        raise InputError(
            f"The namer {kind!r} returned a {type(namer).__name__} without name and suggest.", option="namer"
        )
    return namer


def ask(
    namer: Namer, questions: Mapping[int, Question], taken: Mapping[int, str], *, seconds: float = EACH
) -> dict[int, Answer]:
    """The answers of a namer, checked; no two are the same, nor the same as a name that is taken.

    Parameters
    ----------
    namer : Namer
    questions : mapping of category -> Question
    taken : mapping of category -> name
        Names of all live categories; each may keep its own.
    seconds : float
        Time for each answer.
    """
    answers: dict[int, Answer] = {}
    given, failures, start = list[str](), 0, time.monotonic()
    for category, question in questions.items():
        if failures >= PATIENCE or time.monotonic() - start > ALL:
            answers[category] = Answer(problem="not asked, since the namer did not answer before")
            continue
        try:
            text = _within(seconds, partial(namer.suggest, question))
            failures = 0
        except NamerError as error:
            failures += 1
            answers[category] = Answer(problem=_one_line(str(error)))
            continue
        others = [name for other, name in taken.items() if other != category]
        answers[category] = check_answer(text, [*others, *given])
        given += [answers[category].name] if answers[category].name else []
    return answers


def check_answer(answer: Any, taken: Iterable[str]) -> Answer:
    """An answer as a name, or what is wrong with it.

    Examples
    --------
    >>> check_answer('"Lost luggage."', ["exchange rate"]).name
    'Lost luggage'
    >>> check_answer("Exchange rates", ["exchange rate"]).problem
    "'Exchange rates' has the words of 'exchange rate'"
    """
    if not isinstance(answer, str) or not answer.strip():
        return Answer(problem="the answer is empty or no text")
    lines = [line for line in answer.strip().splitlines() if line.strip()]
    if len(lines) > 1:
        return Answer(problem=f"the answer has {len(lines)} lines")
    name = lines[0].strip().strip(_QUOTES).rstrip(".").strip(_QUOTES).strip()
    if len(name) > LETTERS:
        return Answer(problem=f"the answer has {len(name)} letters, at most {LETTERS} are allowed")
    try:
        name = check_name(name)
    except InputError as error:
        return Answer(problem=_one_line(str(error)))
    words = _words(name)
    for other in taken:
        if skeleton(other) == skeleton(name):
            return Answer(problem=f"{name!r} is the name of another category")
        if words and same_words(words, _words(other)):
            return Answer(problem=f"{name!r} has the words of {other!r}")
    return Answer(name)


def without_key(text: str) -> str:
    """A message without the key of the environment, however an error came to quote it."""
    given = os.environ.get(KEY, "")
    for key in (given, given.strip()):
        for form in (key, repr(key)[1:-1], ascii(key)[1:-1]):
            text = text.replace(form, f"[{KEY}]") if form else text
    return text


def _words(name: str) -> list[str]:
    return [word.casefold() for word in tokens(name.replace("_", " ")) if word]


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:199]}…"


def _within(seconds: float, function: Callable[[], Any]) -> Any:
    """What a function returns within a time; what takes longer is left to a thread that dies with us."""
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise NamerError(_reason(failure[0])) from failure[0]
    if not outcome:
        raise NamerError(f"no answer within {seconds:g} seconds")
    return outcome[0]


def _reason(error: BaseException) -> str:
    text = str(error) if isinstance(error, VbcgcdError) else f"{type(error).__name__}: {error}"
    return without_key(text)

import re

import numpy as np

from vbcgcd.embed.result import EmbedResult, open_report
from vbcgcd.items import Failure


def test_the_bar_shows_count_and_rate(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with open_report(True, "embedding") as report:
        for finished in range(0, 101, 10):
            report(finished, 100)
    output = capsys.readouterr()
    assert output.out == ""
    assert re.search(r"embedding .*100/100 +\d+/s +0:00:00", output.err)


def test_silence_and_a_function_of_ones_own(capsys):
    with open_report(None, "x") as report:
        report(1, 2)
    seen = []
    with open_report(lambda *a: seen.append(a), "x") as report:
        report(1, 2)
    assert seen == [(1, 2)]
    assert capsys.readouterr() == ("", "")


def test_the_summary_names_the_first_failures_and_the_trouble_with_the_cache():
    failures = tuple(Failure(f"item-{i}", "empty text") for i in range(23))
    lines = EmbedResult(np.zeros((2, 3)), np.arange(2), failures, problem="no room").summary().splitlines()
    assert lines[:3] == ["no room", "23 of 25 items could not be embedded:", "  item-0: empty text"]
    assert (len(lines), lines[-1]) == (23, "  and 3 more")
    assert EmbedResult(np.zeros((2, 3)), np.arange(2)).summary() == ""

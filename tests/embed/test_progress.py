import re

from vbcgcd.embed.progress import reporting


def test_the_bar_shows_count_and_rate(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with reporting(True, "embedding") as report:
        for done in range(0, 101, 10):
            report(done, 100)
    said = capsys.readouterr()
    assert said.out == ""
    assert re.search(r"embedding .*100/100 +\d+/s +0:00:00", said.err)


def test_silence_and_a_function_of_ones_own(capsys):
    with reporting(None, "x") as report:
        report(1, 2)
    seen = []
    with reporting(lambda *a: seen.append(a), "x") as report:
        report(1, 2)
    assert seen == [(1, 2)]
    assert capsys.readouterr() == ("", "")

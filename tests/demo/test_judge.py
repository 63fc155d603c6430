from pathlib import Path

import numpy as np
from rich.console import Console

from vbcgcd.demo.judge import Judge, accuracy_table


class Answering:
    """A workspace with fixed answers."""

    def __init__(self, answers):
        self.answers = answers

    def predict(self, folder):
        ids = self.answers[folder.name]
        names = [f"{i}.png" for i in range(len(ids))]
        return type("Answers", (), {"category": np.array(ids), "references": names})


def test_the_judge_matches_once_and_counts_by_hand():
    truth = {
        "labelled": {"a/0.png": "a"},
        "monday": dict(zip([f"{i}.png" for i in range(5)], "abbcc", strict=True)),
        "held-out": dict(zip([f"{i}.png" for i in range(6)], "aabbcd", strict=True)),
    }
    # Category 7 is b, 8 is c by the pictures of monday; 9 is one too many and right for nobody.
    workspace = Answering({"monday": [0, 7, 7, 8, 9], "held-out": [0, 7, 7, 9, 8, 8]})
    judge = Judge(workspace, Path("x"), truth, {0: "a"})
    base = judge.base()
    assert base.score.all == 0.5
    assert judge.majority("monday", [7, 8, 9]) == {7: "b", 8: "c", 9: "c"}
    verdict = judge.session(1, "monday", ["b", "c"], {7: "b", 8: "c", 9: "c (2)"})
    assert (len(verdict.names), verdict.digits, verdict.pictures) == (3, 2, 5)
    assert verdict.score.all == 3 / 5
    assert (verdict.score.old, verdict.score.new) == (1 / 2, 2 / 3)
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(accuracy_table([base, verdict]))
    row = next(line for line in capture.get().splitlines() if "monday" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "1 (monday)",
        "5",
        "3 of 2",
        "b, c, c (2)",
        "60.0",
        "50.0",
        "66.7",
    ]

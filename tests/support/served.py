"""A workspace of sentences, learned and with one session, for tests of the server and of its pages."""

import csv

from vbcgcd.workspace import Workspace

THINGS = {
    "weather": (
        "will it {} today",
        ["rain", "snow", "hail", "be sunny", "be windy", "be cold", "be warm", "storm"],
    ),
    "food": (
        "how do I cook {}",
        ["rice", "pasta", "beans", "a steak", "an egg", "lentils", "potatoes", "fish"],
    ),
    "music": ("play some {} music", ["jazz", "rock", "folk", "piano", "blues", "opera", "techno", "choir"]),
    "bank": (
        "what is the balance of my {} account",
        ["savings", "checking", "joint", "second", "business", "credit", "old", "new"],
    ),
    "travel": ("book a flight to {}", ["rome", "paris", "oslo", "lima", "cairo", "tokyo", "delhi", "boston"]),
}
ENDINGS = ("", " please", " for me")


def sentences(name):
    pattern, parts = THINGS[name]
    return [pattern.format(part) + ending for part in parts for ending in ENDINGS]


def write_table(path, rows, names=("text", "label")):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def prepare(folder):
    """Write the tables into a folder, and the workspace that learned from them."""
    labelled = [(text, name) for name in ("weather", "food", "music") for text in sentences(name)]
    write_table(folder / "labelled.csv", labelled)
    monday = [(text,) for name in ("weather", "bank") for text in sentences(name)]
    write_table(folder / "monday.csv", [*monday, ("<script>alert('x')</script> & \"quotes\"",)], ("text",))
    here = Workspace.init(folder / "desk")
    here.learn(folder / "labelled.csv")
    here.discover(folder / "monday.csv")
    return folder

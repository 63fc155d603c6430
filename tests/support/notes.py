"""A log of three notes: commits 1 to 3, each with one file."""

from vbcgcd.workspace.log.commits import Draft
from vbcgcd.workspace.log.store import Store


class Text(str):
    """A file's content."""

    def as_bytes(self):
        return self.encode()


def note(text):
    """A commit that says a text, and a file with it."""
    return Draft("note", changes={"text": text}, files={"a.txt": Text(text)})


def three_notes(path):
    """A new log with the notes one, two and three."""
    made = Store.create(path, note("one"))
    for text in ("two", "three"):
        with made.writer("note"):
            made.append(note(text), made.head())
    return made

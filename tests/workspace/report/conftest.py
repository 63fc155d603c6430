"""A parser that checks a page while it reads it."""

from html.parser import HTMLParser

import pytest

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """Tags, attributes and texts of a page; every tag that opens has to close."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.source = text
        self.open, self.tags, self.texts, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        assert len(values) == len(attrs), f"an attribute of {tag} twice"
        self.tags.append((tag, values))
        if "id" in values:
            self.ids.append(values["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, name):
        return [values for tag, values in self.tags if tag == name]

    def check(self):
        """What holds for every report."""
        assert self.source.startswith("<!DOCTYPE html>")
        assert len(set(self.ids)) == len(self.ids)
        assert len(self.all("script")) == len(self.all("style")) == 1
        for tag, values in self.tags:
            assert not any(name.startswith("on") for name in values), (tag, values)
            assert tag not in ("iframe", "object", "embed", "form", "base")
            for name in ("src", "href", "xlink:href", "action", "srcset", "poster"):
                if name in values:
                    assert values[name].startswith(("#", "data:image/jpeg;base64,", "data:,")), values
        for values in self.all("a"):
            assert values["href"][1:] in self.ids, values
        style = self.source.partition("<style>")[2].partition("</style>")[0]
        assert "url(" not in style
        assert "@import" not in style
        return self


@pytest.fixture
def page():
    """Function workspace, options -> its report, parsed and checked."""

    def read(workspace, **options):
        path = workspace.path.with_name("report.html")
        done = workspace.report(path, **options)
        data = path.read_bytes()
        assert (done.path, done.bytes) == (str(path), len(data))
        return Page(data.decode("utf-8")).check()

    return read

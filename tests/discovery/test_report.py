import io

import numpy as np
import pytest
from rich.console import Console

from vbcgcd.discovery.report import CountCurve, SessionReport, Step


def report_of(n_novel, *, estimated=False, strings=False, n_rows=60):
    known = np.array(["cat", "dog"]) if strings else np.array([0, 1])
    novel = np.array([f"novel-{i + 1}" for i in range(n_novel)]) if strings else 2 + np.arange(n_novel)
    classes = np.concatenate([known, novel]) if n_novel else known
    codes = np.arange(n_rows) % len(classes)
    return SessionReport(
        session=3,
        labels_=classes[codes],
        probabilities_=np.eye(len(classes))[codes] * 0.9 + 0.1 / len(classes),
        novelty_=np.linspace(0, 1, n_rows),
        novel=novel,
        sizes=np.bincount(codes, minlength=len(classes))[2:],
        estimated=estimated,
        count=CountCurve("silhouette", np.arange(3), np.zeros(3), n_novel) if estimated else None,
        novel_share=0.5,
        evidence=-12345.6,
        ratio_before=np.full(n_novel, -1234.5),
        ratio_after=np.full(n_novel, 0.04),
        steps=tuple(Step(name, 0.25, {}) for name in ("novelty", "cluster", "relabel", "posterior", "label")),
    )


def rendered(report, width=100):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(report)
    return console.export_text()


def test_counts_add_up():
    report = report_of(3)
    assert (report.n_rows, report.n_novel, report.n_novel_rows, report.n_known_rows) == (60, 3, 36, 24)
    assert report.seconds == pytest.approx(1.25)


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("estimated", [False, True])
@pytest.mark.parametrize("n_novel", [0, 1, 3, 12])
def test_repr_says_what_was_found(strings, estimated, n_novel):
    report = report_of(n_novel, estimated=estimated, strings=strings)
    text = repr(report)
    assert "session 3" in text
    assert "60 rows" in text
    noun = "category" if n_novel == 1 else "categories"
    assert f"{report.n_known_rows} known and {report.n_novel_rows} novel in {n_novel} {noun}" in text
    assert ("estimated" if estimated else "given") in text
    assert ", ..." in text if n_novel > 4 else ", ..." not in text
    assert "\n" not in text
    for label in report.novel[:4]:
        assert str(label) in text


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("n_novel", [0, 1, 12])
def test_table_fits_and_shows_every_category(strings, n_novel):
    report = report_of(n_novel, strings=strings)
    text = rendered(report)
    assert max(map(len, text.splitlines())) <= 100
    for number in (report.n_rows, report.n_known_rows, report.n_novel_rows, n_novel):
        assert str(number) in text
    for label, size in zip(report.novel, report.sizes, strict=True):
        [line] = [line for line in text.splitlines() if line.split()[:2] == ["│", str(label)]]
        assert str(size) in line.split()
        assert "-1234.5" in line
    assert "Session 3" in text or n_novel == 0
    assert "given" in text


def test_a_category_without_rows_is_shown():
    report = report_of(2)
    labels = np.where(report.labels_ == 3, 2, report.labels_)
    fields = {**report.__dict__, "labels_": labels, "sizes": np.array([30, 0])}
    text = rendered(SessionReport(**fields))
    assert "nan" in text or "-" in text


@pytest.mark.parametrize("width", [60, 80])
def test_narrow_terminals_are_kept(width):
    assert max(map(len, rendered(report_of(3, strings=True), width).splitlines())) <= width

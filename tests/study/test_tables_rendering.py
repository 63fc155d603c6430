import io

from rich.console import Console

from vbcgcd.study.tables import ResultTable

TABLE = ResultTable(
    "T & 50 %",
    ("name", "a|b", "x"),
    (("one", "1.00 ± 0.10", "–"), ("two_2", "2", "3")),
    ("Note.",),
    breaks=(1,),
)


def test_markdown():
    assert str(TABLE) == TABLE.markdown()
    assert TABLE.markdown().splitlines() == [
        "**T & 50 %**",
        "",
        "| name | a\\|b | x |",
        "| --- | ---: | ---: |",
        "| one | 1.00 ± 0.10 | – |",
        "| two_2 | 2 | 3 |",
        "",
        "Note.",
    ]


def test_latex_is_escaped():
    text = TABLE.latex()
    assert r"\caption{T \& 50 \%. Note.}" in text
    assert r"one & 1.00 $\pm$ 0.10 & -- \\" in text
    assert r"two\_2 & 2 & 3 \\" in text
    assert text.count(r"\midrule") == 2
    assert text.count("{") == text.count("}")


def test_the_terminal_table_is_narrow():
    out = Console(width=60, file=io.StringIO())
    out.print(TABLE)
    text = out.file.getvalue()
    assert "1.00±0.10" in text
    assert "Note." in text

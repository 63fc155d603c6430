"""One table of text, three ways to write it: terminal, Markdown, LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

_LATEX = {"\\": r"\textbackslash{}", "±": r"$\pm$", "–": "--", "…": r"\dots{}", "|": r"$|$"} | {
    c: "\\" + c for c in "&%$#_{}"
}
Row = tuple[str, ...]

__all__ = ["ResultTable", "Row"]


@dataclass(frozen=True)
class ResultTable:
    """A titled table of text; ``print`` shows it as Markdown, rich prints it for the terminal.

    Parameters
    ----------
    title : str
    columns : tuple of str
    rows : tuple of tuples of str
    notes : tuple of str
        Sentences that explain the columns.
    n_left : int
        How many columns, from the left, are names rather than numbers.
    breaks : tuple of int
        Numbers of rows after which a line is drawn.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    n_left: int = 1
    breaks: tuple[int, ...] = ()

    def __rich__(self) -> Group:
        """Narrow enough for 100 columns: few lines, no spaces around ±."""
        out = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
        for i, column in enumerate(self.columns):
            out.add_column(column, justify="left" if i < self.n_left else "right", no_wrap=i > 0)
        for i, row in enumerate(self.rows, start=1):
            out.add_row(*(cell.replace(" ± ", "±") for cell in row), end_section=i in self.breaks)
        return Group(Text(self.title, style="bold"), Text(), out, Text("\n".join(self.notes), style="dim"))

    def markdown(self) -> str:
        """The table as Markdown."""
        rule = ["---" if i < self.n_left else "---:" for i in range(len(self.columns))]
        rows = [self.columns, tuple(rule), *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        notes = [note + "  " for note in self.notes]
        return "\n".join([f"**{self.title}**", "", *lines, "", *notes]).rstrip()

    def latex(self) -> str:
        """The table as LaTeX, for the package booktabs."""
        align = "".join("l" if i < self.n_left else "r" for i in range(len(self.columns)))
        lines = [
            r"\begin{table}[t]",
            r"\centering",
            rf"\caption{{{_latex(self.title)}. {_latex(' '.join(self.notes))}}}",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            " & ".join(map(_latex, self.columns)) + r" \\",
            r"\midrule",
        ]
        for i, row in enumerate(self.rows, start=1):
            lines.append(" & ".join(map(_latex, row)) + r" \\")
            if i in self.breaks and i < len(self.rows):
                lines.append(r"\midrule")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])

    __str__ = markdown


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)

"""One description of a table, three ways to write it: terminal, Markdown, LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich import box
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

__all__ = ["Cell", "Table", "render"]

Cell = str


@dataclass(frozen=True)
class Table:
    """A titled grid of text; the first ``n_left`` columns are names."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    notes: tuple[str, ...] = ()
    n_left: int = 1
    breaks: tuple[int, ...] = ()


def render(table: Table, style: str) -> Group | str:
    """A table for the terminal (rich), or as Markdown or LaTeX text.

    Parameters
    ----------
    table : Table
    style : {"terminal", "markdown", "latex"}
    """
    writers: dict[str, Callable[[Table], Group | str]] = {
        "terminal": _rich,
        "markdown": _markdown,
        "latex": _latex,
    }
    return writers[style](table)


def _rich(table: Table) -> Group:
    """Narrow enough for 100 columns: few lines, no spaces around ±."""
    out = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for i, column in enumerate(table.columns):
        out.add_column(column, justify="left" if i < table.n_left else "right", no_wrap=i > 0)
    for i, row in enumerate(table.rows, start=1):
        out.add_row(*(cell.replace(" ± ", "±") for cell in row), end_section=i in table.breaks)
    return Group(Text(table.title, style="bold"), Text(), out, Text("\n".join(table.notes), style="dim"))


def _markdown(table: Table) -> str:
    rule = ["---" if i < table.n_left else "---:" for i in range(len(table.columns))]
    rows = [table.columns, tuple(rule), *table.rows]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([f"**{table.title}**", "", *lines, "", *(note + "  " for note in table.notes)]).rstrip()


_LATEX = {"\\": r"\textbackslash{}", "±": r"$\pm$", "–": "--", "…": r"\dots{}", "|": r"$|$"} | {
    c: "\\" + c for c in "&%$#_{}"
}


def _latex(table: Table) -> str:
    def text(cell: str) -> str:
        return "".join(_LATEX.get(c, c) for c in cell)

    align = "".join("l" if i < table.n_left else "r" for i in range(len(table.columns)))
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{text(table.title)}. {text(' '.join(table.notes))}}}",
    ]
    lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines += [" & ".join(map(text, table.columns)) + r" \\", r"\midrule"]
    for i, row in enumerate(table.rows, start=1):
        lines.append(" & ".join(map(text, row)) + r" \\")
        if i in table.breaks and i < len(table.rows):
            lines.append(r"\midrule")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])

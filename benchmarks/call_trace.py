"""How much code a reader passes: functions and files that a command runs through, file sizes, import cycles.

python benchmarks/call_trace.py            the figures
python benchmarks/call_trace.py --files    and the files of each command, with their functions

Runs `vbcgcd discover` on a small workspace and `vbcgcd study run main` on small embeddings, in this process.
Functions are those defined with def in vbcgcd that are called while the command runs, not while modules are
imported; generator expressions, comprehensions and lambdas count as the function they stand in.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from typer.testing import CliRunner

import vbcgcd
from vbcgcd.cli import app

ROOT = Path(vbcgcd.__file__).parent
LIMIT = 400


def trace(action: Callable[[], Any]) -> set[tuple[str, str]]:
    """Pairs (file, function) of vbcgcd that are called."""
    prefix, passed = f"{ROOT}/", set()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        ours = event == "call" and code.co_filename.startswith(prefix) and not code.co_name.startswith("<")
        if ours and not _importing(frame):
            passed.add((code.co_filename[len(prefix) :], code.co_qualname))

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return passed


def _importing(frame: FrameType) -> bool:
    """Whether a call, or one of its callers in vbcgcd, is part of an import."""
    outer: FrameType | None = frame
    while outer is not None:
        if outer.f_code.co_name == "<module>" and outer.f_code.co_filename.startswith(str(ROOT)):
            return True
        outer = outer.f_back
    return False


def call(*arguments: Any) -> None:
    """Run a command; it must succeed."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exit_code:
        raise RuntimeError(result.output) from result.exception


def trace_discover(folder: Path) -> set[tuple[str, str]]:
    """`vbcgcd discover` on digits, into a workspace that has learned six of them."""
    rows, labels = load_digits(return_X_y=True)
    with chdir(folder):
        np.savez("base.npz", x=rows[:400][labels[:400] < 6], y=labels[:400][labels[:400] < 6])
        np.savez("batch.npz", x=rows[400:800])
        call("init", "digits")
        call("learn", "base.npz", "-w", "digits")
        return trace(lambda: call("discover", "batch.npz", "-w", "digits"))


def trace_study(folder: Path) -> set[tuple[str, str]]:
    """`vbcgcd study run main` on eight of the digits, two sessions."""
    rows, labels = load_digits(return_X_y=True)
    rows, labels = rows[labels < 8].astype(np.float32), labels[labels < 8]
    with chdir(folder):
        np.savez(
            "digits.npz",
            train_x=rows[:600],
            train_y=labels[:600],
            test_x=rows[600:800],
            test_y=labels[600:800],
        )
        call("study", "plan", "--data", "digits.npz", "--sessions", 2, "-o", "plan.json")
        return trace(lambda: call("study", "run", "main", "--data", "digits.npz", "--plan", "plan.json"))


def modules() -> dict[str, Path]:
    """Dotted names of all modules of vbcgcd."""
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        parts = ["vbcgcd", *file.relative_to(ROOT).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(name: str, file: Path, known: dict[str, Path]) -> set[str]:
    """Modules of vbcgcd that a module imports, inside functions too, but not for type checkers alone."""
    tree = ast.parse(file.read_text())
    skipped = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    targets: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            # `from package import module` depends on that module, any other name on the package itself.
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                targets.add(inner if inner in known else module)
    return {target for target in targets if target in known and target != name}


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import one another (strongly connected components, by Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            place = stack.index(node)
            group = stack[place:]
            del stack[place:]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return groups


def report_trace(title: str, passed: set[tuple[str, str]], *, files: bool) -> None:
    by_file: dict[str, list[str]] = {}
    for file, function in sorted(passed):
        by_file.setdefault(file, []).append(function)
    print(f"{title}: {len(passed)} functions in {len(by_file)} files")
    if files:
        for file, functions in by_file.items():
            print(f"  {file} ({len(functions)}): {', '.join(functions)}")


def report_sizes() -> None:
    lines = {file.relative_to(ROOT): len(file.read_text().splitlines()) for file in ROOT.rglob("*.py")}
    real = [n for n in lines.values() if n]
    largest = max(lines, key=lambda file: lines[file])
    print(
        f"files: {len(lines)}, lines {sum(real)}, median {statistics.median(real):g}, "
        f"largest {lines[largest]} ({largest})"
    )
    above = sorted((n, str(file)) for file, n in lines.items() if n > LIMIT)
    print(f"files above {LIMIT} lines: {len(above)}" + "".join(f"\n  {file} {n}" for n, file in above))


def report_cycles() -> None:
    known = modules()
    groups = cycles({name: imports(name, file, known) for name, file in known.items()})
    print(f"import cycles: {len(groups)}" + "".join(f"\n  {' <-> '.join(group)}" for group in groups))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files and functions of each command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        report_trace("vbcgcd discover", trace_discover(Path(first)), files=options.files)
        report_trace("vbcgcd study run", trace_study(Path(second)), files=options.files)
    report_sizes()
    report_cycles()


if __name__ == "__main__":
    main()

"""Mutation testing: what share of small faults in `bayes` and `discovery` do the tests notice?

pip install cosmic-ray coverage
python benchmarks/mutation.py [--root TREE] [--mutants 300] [--seed 0] [--out results.jsonl]

A seeded sample of places is drawn, and at each of them one of the faults that cosmic-ray's operators can make
(another operator, a number one off, `not` before a condition, a decorator or loop removed). Places in
annotations, in `raise` statements and in type-checking blocks are left out: the first and last have no
effect, and tests do not tie themselves to the wording of messages.

Every mutant is tried in a temporary copy of the tree, in a forked process, against the tests that run its
line: first those of its package (`tests/bayes`, `tests/discovery`), then those of the estimator
(`tests/test_*.py` and `tests/model`). It is killed when a test fails, or when the tests do not end in time.
Needs a system with fork; run it with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import hypothesis
import numpy as np  # noqa: F401 - imported once here, not in every forked process
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats  # noqa: F401
import sklearn.cluster
import sklearn.datasets
import sklearn.mixture
import sklearn.utils.estimator_checks  # noqa: F401
from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

PACKAGES = ("bayes", "discovery")
#: Top-level tests that say nothing about the mathematics, and are slow.
NOT_SECOND = ("test_cli", "test_demo", "test_docs", "test_embed_cli", "test_package", "test_archive")
ARITHMETIC = ("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow")
COMPARISONS = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
PAIRS = {("BitAnd", "BitOr"), ("BitOr", "BitAnd"), ("Is", "IsNot"), ("IsNot", "Is")}
EXAMPLES = 25
MEMORY = 8 << 30
LOG = "mutation.log"


@dataclass(frozen=True)
class Mutant:
    """One fault: the operator's occurrence in a file, and the lines of the statement it stands in."""

    file: str
    operator: str
    occurrence: int
    start: tuple[int, int]
    first: int
    last: int


@dataclass(frozen=True)
class Coverage:
    """Which tests run a line, and how long each test takes.

    Lines that run in the setup of a test belong to all tests of its file, which may share the fixture.
    """

    tests: dict[str, float]
    by_line: dict[str, dict[int, list[str]]]

    def of(self, mutant: Mutant) -> list[str]:
        """Tests that run a mutant's statement, in the order in which they were measured."""
        lines = self.by_line.get(mutant.file, {})
        names = {t for n in range(mutant.first, mutant.last + 1) for t in lines.get(n, ())}
        if "" in names:  # runs at import: any test of this module may notice
            names = {t for tests in lines.values() for t in tests}
        files = {name.removeprefix("setup of ") for name in names if name.startswith("setup of ")}
        return [t for t in self.tests if t in names or t.partition("::")[0] in files]


def sensible(name: str) -> bool:
    """Whether an operator makes faults that a person could: no shifts of floats, no `< None`."""
    kind, _, parts = name.removeprefix("core/").partition("_")
    if kind in ("VariableInserter", "VariableReplacer", "NoOp"):
        return False
    if kind in ("ReplaceBinaryOperator", "ReplaceComparisonOperator"):
        pair = tuple(parts.split("_"))
        groups = (ARITHMETIC, COMPARISONS)
        return pair in PAIRS or any(pair[0] in group and pair[1] in group for group in groups)
    return True


def left_out(tree: ast.AST) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Ranges of code where a fault would have no effect, or only on wording."""
    nodes: list[Any] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        ):
            nodes.append(node)
        nodes += [part for part in (getattr(node, k, None) for k in ("annotation", "returns")) if part]
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            nodes.append(node)
        if node in getattr(tree, "body", ()) and isinstance(getattr(node, "value", None), ast.Subscript):
            nodes.append(node)  # an alias of types, such as Structure = Literal["full", "diagonal"]
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in nodes]


def statement_lines(tree: ast.AST) -> list[tuple[int, int]]:
    """First and last line of every statement; of one with a body, those of its head."""
    ranges = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            last = node.end_lineno if not body else max(node.lineno, body[0].lineno - 1)
            ranges.append((first, int(last or node.lineno)))
    return ranges


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    tree = ast.parse(source)
    skipped, statements, parsed = left_out(tree), statement_lines(tree), get_ast(source)
    for name in sorted(filter(sensible, operator_names())):
        positions: list[tuple[int, int]] = []

        class Collect(Visitor):
            operator = get_operator(name)()
            found = positions

            def visit(self, node: Any) -> Any:
                self.found += [start for start, _ in self.operator.mutation_positions(node)]
                return node

        Collect().walk(parsed)
        for occurrence, start in enumerate(positions):
            if any(a <= start < b for a, b in skipped):
                continue
            around = [r for r in statements if r[0] <= start[0] <= r[1]]
            first, last = min(around, key=lambda r: r[1] - r[0], default=(start[0], start[0]))
            yield Mutant(file, name, occurrence, start, first, last)


def sample(root: Path, n: int, seed: int) -> list[Mutant]:
    """Places drawn without replacement, one fault at each."""
    places: dict[tuple[str, tuple[int, int]], list[Mutant]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((root / "src" / "vbcgcd" / package).rglob("*.py")):
            file = str(path.relative_to(root))
            for mutant in mutants_of(file, path.read_text()):
                places[mutant.file, mutant.start].append(mutant)
    rng = random.Random(seed)
    order = rng.sample(sorted(places), len(places))
    print(f"{sum(map(len, places.values()))} mutants at {len(places)} places", flush=True)
    chosen = []
    for place in order:
        mutant = rng.choice(places[place])
        if compiles(mutated(root, mutant)):
            chosen.append(mutant)
        if len(chosen) == n:
            break
    return chosen


def mutated(root: Path, mutant: Mutant) -> str:
    code = mutate_code((root / mutant.file).read_text(), get_operator(mutant.operator)(), mutant.occurrence)
    return str(code)


def compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def test_files(root: Path) -> list[Path]:
    """Those of the packages, then those of the estimator."""
    first = [p for package in PACKAGES for p in sorted((root / "tests" / package).rglob("test_*.py"))]
    top = [p for p in sorted((root / "tests").glob("test_*.py")) if p.stem not in NOT_SECOND]
    return [*first, *top, *sorted((root / "tests" / "model").rglob("test_*.py"))]


class Chosen:
    """Plugin: run these tests in this order."""

    def __init__(self, tests: list[str]) -> None:
        self.tests = tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:  # noqa: D102
        place = {name: i for i, name in enumerate(self.tests)}
        items[:] = sorted((i for i in items if i.nodeid in place), key=lambda item: place[item.nodeid])


class Recorder:
    """Plugin: which lines each test runs, how long it takes and whether it passes."""

    def __init__(self, watch: coverage.Coverage) -> None:
        self.watch = watch
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Any:  # noqa: D102
        self.watch.switch_context(f"setup of {item.nodeid.partition('::')[0]}")
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:  # noqa: D102
        self.watch.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.watch.switch_context("between")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:  # noqa: D102
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)


def in_child(root: Path, action: Callable[[], int], timeout: float) -> int | None:
    """Exit status of an action in a forked process that stands in a tree; None if it did not end in time."""
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            log = os.open(root / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(log, stream)
            os.chdir(root)
            sys.path.insert(0, str(root / "src"))
            os.environ.update(PYTHONPATH=str(root / "src"), HYPOTHESIS_PROFILE="few", OMP_NUM_THREADS="1")
            os._exit(action())
        except BaseException:
            traceback.print_exc()
            os._exit(99)
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)  # the child leads its own group: itself and what it started
    os.waitpid(pid, 0)
    return None


def pytest_arguments(root: Path, files: list[str]) -> list[str]:
    plain = ["-o", "addopts=", "--import-mode=importlib", "-p", "no:cacheprovider", "-p", "no:xdist"]
    plain += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is imported before the fork
    return [*plain, "-q", "--rootdir", str(root), "--basetemp", str(root / ".mutation"), *files]


def measure(root: Path, timeout: float) -> Coverage:
    """Run the unchanged tests once."""
    target = root / "coverage-map.json"
    files = [str(p.relative_to(root)) for p in test_files(root)]

    def action() -> int:
        sources = [str(root / "src" / "vbcgcd" / package) for package in PACKAGES]
        watch = coverage.Coverage(data_file=None, source=sources, config_file=False)
        recorder = Recorder(watch)
        watch.start()
        pytest.main(pytest_arguments(root, files), plugins=[recorder])
        watch.stop()
        data = watch.get_data()
        lines = {
            str(Path(file).relative_to(root)): data.contexts_by_lineno(file) for file in data.measured_files()
        }
        tests = {t: s for t, s in recorder.seconds.items() if t not in recorder.failed}
        target.write_text(json.dumps([tests, lines, sorted(recorder.failed)]))
        return 0

    if in_child(root, action, timeout) != 0:
        print((root / LOG).read_text()[-4000:])
        sys.exit("The unchanged tests did not run to their end.")
    tests, lines, failed = json.loads(target.read_text())
    print(f"{len(tests)} tests, {sum(tests.values()):.0f} s; not used, as they fail or skip: {len(failed)}")
    return Coverage(tests, {f: {int(n): c for n, c in by.items()} for f, by in lines.items()})


def ordered(root: Path, mutant: Mutant, tests: list[str], seconds: dict[str, float]) -> list[list[str]]:
    """Two stages: tests of the package, those named after the module first; then tests of the estimator."""
    package = Path(mutant.file).parts[2]
    own = f"test_{Path(mutant.file).stem}.py"
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        by_file[test.partition("::")[0]].append(test)

    def rank(file: str) -> tuple[bool, float]:
        return Path(file).name != own, sum(seconds[t] for t in by_file[file])

    first = [file for file in by_file if file.startswith(f"tests/{package}/")]
    second = [file for file in by_file if file not in first]
    return [[t for f in sorted(part, key=rank) for t in by_file[f]] for part in (first, second)]


def within(tests: list[str], seconds: dict[str, float], budget: float) -> list[str]:
    """The quickest tests that fit a budget, in their order."""
    total, kept = 0.0, set()
    for test in sorted(tests, key=lambda t: seconds[t]):
        total += seconds[test]
        if total > budget:
            break
        kept.add(test)
    return [test for test in tests if test in kept]


def judge(root: Path, mutant: Mutant, cover: Coverage, budget: float) -> tuple[str, int]:
    """The outcome ("killed", "timeout", "survived" or "uncovered") and the number of tests chosen."""
    tests = cover.of(mutant)
    if not tests:
        return "uncovered", 0
    path = root / mutant.file
    original, changed = path.read_text(), mutated(root, mutant)
    path.write_text(changed)
    try:
        for stage in ordered(root, mutant, tests, cover.tests):
            part = within(stage, cover.tests, budget)
            if not part:
                continue
            files = list(dict.fromkeys(t.partition("::")[0] for t in part))
            limit = 30 + 4 * sum(cover.tests[t] for t in part)
            arguments = ["-x", *pytest_arguments(root, files)]
            status = in_child(
                root, lambda a=arguments, p=part: int(pytest.main(a, plugins=[Chosen(p)])), limit
            )
            if status is None:
                return "timeout", len(tests)
            if status != 0:
                return "killed", len(tests)
    finally:
        path.write_text(original)
    return "survived", len(tests)


def lines_of(root: Path, mutant: Mutant) -> tuple[str, str]:
    """The first line that differs, before and after."""
    before, after = (root / mutant.file).read_text().splitlines(), mutated(root, mutant).splitlines()
    for a, b in zip(before, after, strict=False):
        if a != b:
            return a.strip(), b.strip()
    return before[mutant.start[0] - 1].strip(), "(removed)"


def copy_tree(source: Path, target: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", ".*")
    for name in ("src", "tests", "benchmarks"):
        shutil.copytree(source / name, target / name, ignore=ignore)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(source / name, target / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the tree")
    parser.add_argument("--mutants", type=int, default=300, help="how many to try")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--budget", type=float, default=120.0, help="most seconds of tests in each stage")
    parser.add_argument("--only", default="", help="only mutants of files whose path contains this")
    parser.add_argument(
        "--out", type=Path, help="file for one JSON line for each mutant, written as they end"
    )
    options = parser.parse_args()
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    hypothesis.settings.register_profile(
        "few", derandomize=True, max_examples=EXAMPLES, deadline=None, database=None
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        copy_tree(options.root, root)
        cover = measure(root, timeout=3600)
        chosen = [m for m in sample(root, options.mutants, options.seed) if options.only in m.file]
        outcomes: Counter[str] = Counter()
        survivors = []
        start = time.monotonic()
        for number, mutant in enumerate(chosen, 1):
            outcome, n_tests = judge(root, mutant, cover, options.budget)
            outcomes[outcome] += 1
            before, after = lines_of(root, mutant)
            line = f"{mutant.file}:{mutant.start[0]}  {before}  ->  {after}"
            if outcome in ("survived", "uncovered"):
                survivors.append(f"{outcome:9} {line}")
            if options.out:
                row = {"outcome": outcome, "tests": n_tests, "where": line, "operator": mutant.operator}
                with options.out.open("a") as out:
                    out.write(json.dumps(row) + "\n")
            if number % 10 == 0:
                print(
                    f"{number} of {len(chosen)}, {time.monotonic() - start:.0f} s: {dict(outcomes)}",
                    flush=True,
                )
    killed = outcomes["killed"] + outcomes["timeout"]
    print(f"{killed} of {len(chosen)} killed: {100 * killed / max(len(chosen), 1):.1f} % {dict(outcomes)}")
    print("\n".join(sorted(survivors)))


if __name__ == "__main__":
    main()

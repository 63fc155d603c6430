"""What answers to the questions of a review are worth: a simulated reviewer who knows the truth.

VBCGCD_DATA=... python benchmarks/review.py                      # four datasets, the uneven stream
VBCGCD_DATA=... python benchmarks/review.py --records scores.json            # and keep the scores
python benchmarks/review.py --records scores.json --plot docs/review.png     # draw them
VBCGCD_DATA=... python benchmarks/review.py --year               # a year of weekly batches
VBCGCD_DATA=... python benchmarks/review.py --weights            # what the odds of "same?" are made of
python benchmarks/review.py --cost                               # 1,000 categories and 100,000 items

The reviewer answers the first question of the list, again and again, beside one who answers questions in
random order and one who labels the most doubtful item each time. All is the accuracy on test rows of all
classes, categories matched one to one to classes on the items of the stream; B-cubed F1 is that of the items
of the unlabelled sessions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import year
from common import console, data_folder, table
from streams import datasets
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import Posterior
from vbcgcd.errors import InputError
from vbcgcd.record import SessionRecord
from vbcgcd.study import Dataset
from vbcgcd.study.runner import upper_bound
from vbcgcd.study.streams.scoring import b_cubed
from vbcgcd.study.streams.shapes import make_stream
from vbcgcd.workspace import Category, ItemInfo, Question, Workspace
from vbcgcd.workspace.log.commits import Draft
from vbcgcd.workspace.log.files import SEGMENT, TABLE, TRACES, Assignments, Segment, SessionTraces
from vbcgcd.workspace.queries.review.evidence import evidence_of
from vbcgcd.workspace.queries.review.same import pair_evidence

#: Answers after which the scores are taken.
STEPS = (0, 5, 10, 20, 30, 40, 50)
#: A category is two things if its second class has this share of its items, and so many.
SECOND_SHARE, SECOND_ITEMS = 0.2, 3
#: A group is one thing, and recent items are still the same, from these shares on.
GROUP_SHARE, STILL_SHARE = 0.5, 0.9


@dataclass(frozen=True)
class Life:
    """A workspace that has seen a stream, the true class of each item by its key, and test rows."""

    workspace: Workspace
    truth: dict[tuple[int, int], int]
    test_x: np.ndarray
    test_y: np.ndarray


@dataclass(frozen=True)
class Score:
    """After so many answers: All and B-cubed F1 (0 to 1), and the number of live categories."""

    answers: int
    all: float
    b_cubed: float
    categories: int


@dataclass
class Course:
    """What became of a review: scores along the way, and how many questions of each kind were accepted."""

    scores: list[Score] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def live(
    folder: Path, base: tuple[np.ndarray, np.ndarray], batches: Sequence[tuple[np.ndarray, np.ndarray]]
) -> Any:
    """A workspace after a labelled session and batches, kept as files; and the truth of its items."""
    folder.mkdir(parents=True)
    workspace = Workspace.init(folder / "workspace", sample=0)
    commit = workspace.learn(*base).commit
    truth = {(commit, row): int(c) for row, c in enumerate(base[1])}
    for number, (rows, classes) in enumerate(batches):
        file = folder / f"batch-{number}.npy"
        np.save(file, rows)
        commit = workspace.discover(file).commit
        truth |= {(commit, row): int(c) for row, c in enumerate(classes)}
    return workspace, truth


def streamed(data: Dataset, folder: Path, seed: int, shape: str = "uneven") -> Life:
    """A workspace under a plan of realistic streams."""
    plan, x, y = make_stream(data.train_y, shape, seed=seed), data.train_x, data.train_y
    batches = [(x[session.rows], y[session.rows]) for session in plan.sessions]
    workspace, truth = live(folder, (x[plan.base_rows], y[plan.base_rows]), batches)
    return Life(workspace, truth, data.test_x, data.test_y)


def of_a_year(folder: Path, weeks: int = 52) -> Life:
    """The year of `benchmarks/year.py` on CLINC150."""
    file = data_folder() / "clinc150-minilm.npz"
    stream = year.Recorded(str(file), weeks=weeks)
    batches = []
    for week in range(weeks):
        fresh = [stream.start[c] for c in stream.arriving[week].tolist()]
        rows = np.concatenate([*fresh, np.array(stream.later[week], dtype=int)])
        batches.append((stream.x[rows], stream.y[rows]))
    workspace, truth = live(folder, stream.base(), batches)
    with np.load(file) as arrays:
        return Life(workspace, truth, arrays["test_x"].astype(np.float32), arrays["test_y"])


# ---------------------------------------------------------------------------------------------- the reviewer


class Reviewer:
    """Answers questions as somebody does who knows the class of every item."""

    def __init__(self, life: Life) -> None:
        self.here, self.truth = life.workspace, life.truth

    def look(self) -> None:
        """Count the classes of each live category as they are now."""
        self.classes: dict[int, Counter[int]] = {}
        for item in self.here.items():
            if item.category is not None:
                self.classes.setdefault(item.category, Counter())[self.truth[item.commit, item.row]] += 1
        live = {category.id for category in self.here.entries()}
        self.classes = {i: counts for i, counts in self.classes.items() if i in live}

    def class_of(self, category: int) -> int:
        """The class of most of its items."""
        return self.classes[category].most_common(1)[0][0] if category in self.classes else -1

    def home_of(self, cls: int) -> int | None:
        """The category that stands for a class: the one with most of its items."""
        homes = [(counts[cls], -i) for i, counts in self.classes.items() if self.class_of(i) == cls]
        return -max(homes)[1] if homes else None

    def class_of_item(self, item: ItemInfo) -> int:
        """Its true class."""
        return self.truth[item.commit, item.row]

    def answer(self, asked: Question) -> bool:
        """Settle a question; whether it was accepted."""
        self.look()
        try:
            if getattr(self, f"_{asked.kind}")(asked):
                return True
        except InputError:  # what cannot be carried out is dismissed
            pass
        self.here.dismiss(asked.id)
        return False

    def _same(self, asked: Question) -> bool:
        one, other = map(self.class_of, asked.categories)
        return one == other and bool(self.here.accept(asked.id))

    def _two(self, asked: Question) -> bool:
        counts = self.classes[asked.categories[0]].most_common(2)
        if len(counts) < 2:
            return False
        second, total = counts[1][1], self.classes[asked.categories[0]].total()
        return second >= max(SECOND_SHARE * total, SECOND_ITEMS) and bool(self.here.accept(asked.id))

    def _odd(self, asked: Question) -> bool:
        own = self.class_of(asked.categories[0])
        wrong = Counter(c for c in map(self.class_of_item, asked.items) if c != own)
        return bool(wrong) and self._move(asked, wrong.most_common(1)[0][0])

    def _group(self, asked: Question) -> bool:
        cls, number = Counter(map(self.class_of_item, asked.items)).most_common(1)[0]
        return number >= GROUP_SHARE * len(asked.items) and self._move(asked, cls)

    def _label(self, asked: Question) -> bool:
        cls = self.class_of_item(asked.items[0])
        if asked.items[0].category is not None and self.class_of(asked.items[0].category) == cls:
            return bool(self.here.accept(asked.id))
        return self._move(asked, cls)

    def _drift(self, asked: Question) -> bool:
        own = self.class_of(asked.categories[0])
        right = np.mean([self.class_of_item(item) == own for item in asked.items])
        return bool(right >= STILL_SHARE) and bool(self.here.accept(asked.id))

    def _stale(self, asked: Question) -> bool:
        return False  # every class of these streams is still needed

    def _move(self, asked: Question, cls: int) -> bool:
        """Move the items of a class to where it is, or to a new category."""
        home = self.home_of(cls)
        others = [k for k, item in enumerate(asked.items, start=1) if self.class_of_item(item) != cls]
        to: Any = f"class {cls}" if home is None else f"#{home}"
        return bool(self.here.accept(asked.id, to=to, create=home is None, without=others))


Choose = Callable[[Workspace, np.random.Generator], Question | None]


def first(here: Workspace, rng: np.random.Generator) -> Question | None:
    """The first question of the list."""
    found = here.review(1, examples=0).questions
    return found[0] if found else None


def at_random(here: Workspace, rng: np.random.Generator) -> Question | None:
    """Any question of the list."""
    total = here.review(0).total
    return here.question(int(rng.integers(total)) + 1, examples=0) if total else None


def most_doubtful(here: Workspace, rng: np.random.Generator) -> Question | None:
    """The item with the smallest margin, to be labelled."""
    item = min(here.items("state=guessed"), key=lambda item: item.probability - item.second_probability)
    own = () if item.category is None else (item.category,)
    return Question("doubtful", "label", "", "", 1.0, 1.0, 8.0, "", own, (item,))


class Labeller(Reviewer):
    """Labels the items that it is given, without any list of questions."""

    def answer(self, asked: Question) -> bool:
        """Label the item; whether it was elsewhere."""
        self.look()
        item, cls = asked.items[0], self.class_of_item(asked.items[0])
        if item.category is not None and self.class_of(item.category) == cls:
            self.here.confirm_items(item)
            return False
        home = self.home_of(cls)
        self.here.move_items(item, f"class {cls}" if home is None else f"#{home}", create=home is None)
        return True


ORDERS: dict[str, tuple[Choose, type[Reviewer]]] = {
    "review": (first, Reviewer),
    "random order": (at_random, Reviewer),
    "most doubtful item": (most_doubtful, Labeller),
}


def score(life: Life, answers: int) -> Score:
    """Categories matched one to one to classes on the items as they are assigned now."""
    here, items = life.workspace, life.workspace.items()
    ids = [category.id for category in here.entries()]
    classes, known = np.unique(list(life.truth.values())), np.isin(life.test_y, list(life.truth.values()))
    counts = np.zeros((len(ids), len(classes)))
    place = {i: k for k, i in enumerate(ids)}
    truth = np.array([life.truth[item.commit, item.row] for item in items])
    given = np.array([-1 if item.category is None else place.get(item.category, -1) for item in items])
    np.add.at(counts, (given[given >= 0], np.searchsorted(classes, truth[given >= 0])), 1)
    stands_for = np.full(len(ids), -1)
    rows, columns = linear_sum_assignment(-counts)
    stands_for[rows] = classes[columns]
    answered = here.predict(life.test_x[known]).category
    right = np.array([stands_for[place[i]] if i in place else -1 for i in answered]) == life.test_y[known]
    found = np.array([item.session > 0 for item in items])
    bcubed = b_cubed(given[found], truth[found], given[found] < 0)
    return Score(answers, float(right.mean()), bcubed, len(ids))


def reviewed(life: Life, order: str, steps: Sequence[int], seed: int = 0) -> Course:
    """Answer questions and score along the way."""
    (choose, kind), rng, course = ORDERS[order], np.random.default_rng(seed), Course()
    reviewer = kind(life)
    for answers in range(max(steps) + 1):
        if answers in steps:
            course.scores.append(score(life, answers))
        if answers == max(steps):
            break
        start = time.process_time()
        asked = choose(life.workspace, rng)
        course.seconds += time.process_time() - start
        if asked is None:
            break
        course.asked[asked.kind] += 1
        course.accepted[asked.kind] += reviewer.answer(asked)
    return course


# ---------------------------------------------------------------------------------------------- sections


def streams_section(
    names: Sequence[str], seed: int, orders: Sequence[str], steps: Sequence[int], records: Path | None
) -> None:
    """The reviewers on each dataset; scores are added to a file of records."""
    courses: dict[str, dict[str, Course]] = {}
    for name, data in datasets(names).items():
        bound = upper_bound(
            CategoryDiscoverer, data, make_stream(data.train_y, "uneven", seed=seed)
        ).final.all
        courses[name] = {}
        for order in orders:
            with tempfile.TemporaryDirectory() as folder:
                courses[name][order] = reviewed(streamed(data, Path(folder) / "life", seed), order, steps)
        show(f"{name}, uneven stream, seed {seed}; All with every label: {100 * bound:.1f}", courses[name])
        if records is not None:
            known = json.loads(records.read_text()) if records.exists() else {}
            scores = {order: [asdict(each) for each in c.scores] for order, c in courses[name].items()}
            records.write_text(json.dumps({**known, name: {**known.get(name, {}), **scores}}, indent=1))


def year_section(orders: Sequence[str], steps: Sequence[int]) -> None:
    """The reviewers after a year."""
    courses = {}
    for order in orders:
        with tempfile.TemporaryDirectory() as folder:
            courses[order] = reviewed(of_a_year(Path(folder) / "life"), order, steps)
    show("a year of weekly batches, CLINC150: 150 intents, 75 of them labelled", courses)


#: What the odds of "same?" are made of, and the streams from which they are fitted: shape and seed.
WEIGHED = ("gap", "labelled", "apart", "size")
FITTED = (("uneven", 1), ("uneven", 2), ("stream", 2), ("stream-even", 3))


def weights_section(names: Sequence[str]) -> None:
    """Fit the odds of being one category on pairs of near ones, and judge them on the dataset left out."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import average_precision_score, roc_auc_score

    features, same, origin = list[np.ndarray](), list[np.ndarray](), list[str]()
    for name, data in datasets(names).items():
        for shape, seed in FITTED:
            with tempfile.TemporaryDirectory() as folder:
                rows, truth = pairs_of(streamed(data, Path(folder) / "life", seed, shape))
            features.append(rows)
            same.append(truth)
            origin += [name] * len(truth)
    x, y, group = np.concatenate(features), np.concatenate(same), np.array(origin)
    lines = []
    for name in np.unique(group):
        model = LogisticRegression(C=10).fit(x[group != name], y[group != name])
        odds, truth = model.decision_function(x[group == name]), y[group == name]
        scores = (roc_auc_score(truth, odds), average_precision_score(truth, odds))
        lines.append((name, len(truth), int(truth.sum()), *(f"{value:.2f}" for value in scores)))
    table(
        "Pairs of near categories, the dataset left out", ("", "pairs", "same", "AUROC", "precision"), lines
    )
    model = LogisticRegression(C=10).fit(x, y)
    weights = dict(zip(WEIGHED, model.coef_[0].round(2).tolist(), strict=True))
    console.print(f"Weights: common {model.intercept_[0]:.2f}, {weights}", highlight=False)


def pairs_of(life: Life) -> tuple[np.ndarray, np.ndarray]:
    """What the odds are made of for each pair of near categories, and whether they are of one class."""
    evidence = evidence_of(life.workspace.snapshot())
    first, second, values = pair_evidence(evidence)
    reviewer = Reviewer(life)
    reviewer.look()
    cls = np.array([reviewer.class_of(int(i)) for i in evidence.ids])
    rows = np.stack([values[name] for name in WEIGHED], axis=1)
    return rows, cls[first] == cls[second]


# ---------------------------------------------------------------------------------------------- cost


def cost_section(categories: int, items: int, dim: int) -> None:
    """CPU seconds of a review of many made categories and items."""
    with tempfile.TemporaryDirectory() as folder:
        made_workspace(Path(folder) / "w", categories, items, dim)
        start = time.process_time()
        here = Workspace.open(Path(folder) / "w")
        snapshot = here.snapshot()
        _ = snapshot.knowledge
        opened = time.process_time() - start
        start = time.process_time()
        found = here.review(8)
        listed = time.process_time() - start
        start = time.process_time()
        here.question(found.questions[0].id)
        shown = time.process_time() - start
    rows = [
        ("open, read posteriors", f"{opened:.2f}"),
        ("review: read items, all findings, 8 questions", f"{listed:.2f}"),
        ("one question in full", f"{shown:.2f}"),
    ]
    title = (
        f"{len(snapshot.state.ids):,} categories, {items:,} items, {dim} dimensions, {found.total} questions"
    )
    table(title, ("", "CPU seconds"), rows)


def made_workspace(
    path: Path, categories: int, items: int, dim: int, *, base: int = 20, sessions: int = 50
) -> None:
    """A workspace with made posteriors, items and traces in as many sessions."""
    rng = np.random.default_rng(0)
    here = Workspace.init(path)
    labels = np.repeat(np.arange(base), 40)
    here.learn(3 * rng.normal(size=(base, dim))[labels] + rng.normal(size=(len(labels), dim)), labels)
    prior = here.snapshot().knowledge.prior
    sizes = np.diff(np.linspace(0, categories - base, sessions + 1).astype(int))
    for session, novel in enumerate(sizes.tolist(), start=1):
        _ = here._commit(made_session(here, rng, prior, session, novel, items // sessions))


def made_session(here: Workspace, rng: Any, prior: Any, session: int, novel: int, rows: int) -> Draft:
    """A session as it is written, of made numbers."""
    state, first = here.snapshot().state, here.snapshot().history.next_id
    new, factor = list(range(first, first + novel)), prior.form.isotropic(prior.scale).astype(np.float32)
    means = (3 * rng.normal(size=(novel, prior.dim))).astype(np.float32)
    means[1::2] = means[: 2 * (novel // 2) : 2] + 0.3 * rng.normal(size=means[1::2].shape)  # half are pieces
    counts = np.full(novel, 40.0)
    posterior = Posterior(
        means, prior.kappa + counts, prior.nu + counts, np.tile(factor, (novel, 1)), prior.structure
    )
    ids = np.array([*state.ids, *new])
    own, other = rng.choice(ids, rows), rng.choice(ids, rows)
    sure = rng.uniform(0.3, 1.0, rows)
    table_ = Assignments(
        [str(row) for row in range(rows)], own, sure, other, (1 - sure) * 0.7, rng.uniform(size=rows)
    )
    touched, number = np.unique(own, return_counts=True)
    noise = [rng.uniform(0.5, 1.5, len(touched)).astype(np.float32) for _ in range(3)]
    traces = SessionTraces(touched, number, *noise, np.full(len(touched), 0.4, np.float32))
    made = [Category(i, f"novel-{i}", "number", session, reliability=0.8) for i in new]
    record = SessionRecord(
        session=session,
        command="discover",
        rows=rows,
        counts=dict(zip(touched.tolist(), number.tolist(), strict=True)),
        novel={category.id: category.name for category in made},
        source=f"week-{session}.csv",
        kind="embedding",
    )
    changes = {"session": session, "categories": [c.as_json() for c in made], "posteriors": new}
    files = {TABLE: table_, SEGMENT: Segment(posterior, tuple(new)), TRACES: traces}
    return Draft("discover", changes=changes, record=record, files=files)


def show(title: str, courses: dict[str, Course]) -> None:
    """The scores in a table, and what was asked and accepted."""
    rows = []
    for order, course in courses.items():
        for k, each in enumerate(course.scores):
            values = (f"{100 * each.all:.1f}", f"{100 * each.b_cubed:.1f}", each.categories)
            rows.append((order if k == 0 else "", each.answers, *values))
    table(title, ("order", "answers", "All", "B-cubed F1", "categories"), rows)
    for order, course in courses.items():
        kinds = ", ".join(f"{course.accepted[k]} of {n} {k}" for k, n in course.asked.most_common())
        total = sum(course.asked.values())
        console.print(
            f"{order}: accepted {kinds}; {1000 * course.seconds / max(total, 1):.0f} ms of CPU to choose one",
            highlight=False,
        )


def draw(courses: dict[str, dict[str, list[dict[str, float]]]], path: Path) -> None:
    """All and B-cubed F1 against the number of answers, for each dataset."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, len(courses), figsize=(3.1 * len(courses), 5.2), sharex=True, squeeze=False
    )
    colours = dict(zip(ORDERS, ("#1b6ca8", "#999999", "#d1812a"), strict=True))
    for column, (name, orders) in enumerate(courses.items()):
        for order, scores in orders.items():
            answers = [each["answers"] for each in scores]
            for row, measure in enumerate(("all", "b_cubed")):
                values = [100 * each[measure] for each in scores]
                axes[row, column].plot(answers, values, color=colours[order], label=order, marker="o", ms=3)
        axes[0, column].set_title(name, fontsize=9)
        axes[1, column].set_xlabel("answers")
    for row, label in enumerate(("All, %", "B-cubed F1, %")):
        axes[row, 0].set_ylabel(label)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, dpi=110)
    console.print(f"Saved {path}.", highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--answers", type=int, default=max(STEPS))
    parser.add_argument("--orders", nargs="*", default=list(ORDERS), choices=list(ORDERS))
    parser.add_argument("--records", type=Path, help="file (.json) that scores are added to")
    parser.add_argument("--plot", type=Path, help="only draw the records (.png)")
    parser.add_argument("--year", action="store_true", help="the year of benchmarks/year.py instead")
    parser.add_argument("--weights", action="store_true", help="fit the odds of same? instead")
    parser.add_argument("--cost", action="store_true", help="CPU seconds on made numbers instead")
    options = parser.parse_args()
    if options.plot:
        draw(json.loads(options.records.read_text()), options.plot)
        return
    if options.cost:
        cost_section(1000, 100_000, 384)
        return
    if options.weights:
        weights_section(options.data)
        return
    steps = [*(step for step in STEPS if step < options.answers), options.answers]
    if options.year:
        year_section(options.orders, steps)
    else:
        streams_section(options.data, options.seed, options.orders, steps, options.records)


if __name__ == "__main__":
    main()

"""How good are automatic names? Judged on CLINC150, whose intents have names that people gave.

    python benchmarks/names.py                  the table, 20 examples, and the CPU time
    python benchmarks/names.py --all            every name

- *picks*: the name alone, embedded as a text, is nearest to its own category among the 10 nearest categories
  (means of held-out texts for the true ones, of its own items for discovered ones).
- *a word*: the name holds a word of the true label, also in another form; for a discovered category, of the
  label that most of its items have.

*before* is what names were until then: the three most distinctive terms, as a list with commas. The constants
of the phrases were chosen on the even-numbered intents alone; *other half* are the odd-numbered ones.
Discovered categories come from a session of 75 labelled and 75 novel intents.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from common import console, data_folder, load, table
from vbcgcd import CategoryDiscoverer
from vbcgcd.embed import embedder
from vbcgcd.workspace.naming.phrases import phrase_names

NEAREST, ROWS = 10, 60
#: Words of labels that say nothing: "are you a bot" is about a bot.
SMALL = frozenset(
    [
        "a",
        "are",
        "can",
        "do",
        "for",
        "from",
        "how",
        "i",
        "in",
        "is",
        "made",
        "my",
        "on",
        "or",
        "the",
        "to",
        "up",
        "what",
        "when",
        "where",
        "who",
        "you",
        "your",
    ]
)


@dataclass(frozen=True)
class Groups:
    """Texts in groups, those to be named, their true labels, and a mean embedding of each group."""

    texts: list[str]
    codes: np.ndarray
    wanted: list[int]
    labels: list[str]
    means: np.ndarray

    @property
    def similarity(self) -> np.ndarray:
        unit = self.means / np.linalg.norm(self.means, axis=1, keepdims=True)
        return unit @ unit.T


def read() -> tuple[list[str], list[str], list[str]]:
    """Texts of the rows of the embeddings, train and test, and the names of the labels."""
    with open(data_folder() / "clinc150.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = sorted({row["label"] for row in rows})
    parts = ([r for r in rows if r["split"] != "test"], [r for r in rows if r["split"] == "test"])
    return [row["text"] for row in parts[0]], [row["text"] for row in parts[1]], names


def true_groups() -> Groups:
    texts, _, names = read()
    _, y, test_x, test_y = load("CLINC150")
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == k))[:ROWS] for k in range(len(names))])
    means = np.stack([test_x[test_y == k].mean(axis=0) for k in range(len(names))])
    return Groups([texts[row] for row in rows], y[rows], list(range(len(names))), names, means)


def discovered_groups() -> Groups:
    texts, _, names = read()
    x, y, *_ = load("CLINC150")
    rng = np.random.default_rng(0)
    known = set(rng.permutation(len(names))[: len(names) // 2].tolist())
    by_label = {k: rng.permutation(np.flatnonzero(y == k)) for k in range(len(names))}
    base = np.concatenate([by_label[k][:ROWS] for k in known])
    batch = np.concatenate([by_label[k][ROWS : ROWS + (10 if k in known else 50)] for k in range(len(names))])
    model = CategoryDiscoverer(random_state=0).fit(x[base], y[base])
    found = model.discover(x[batch])
    categories, codes = np.unique(found.labels_, return_inverse=True)
    novel = {int(i) for i in found.novel}
    wanted = [place for place, i in enumerate(categories.tolist()) if int(i) in novel]
    major = [names[np.bincount(y[batch][codes == place]).argmax()] for place in range(len(categories))]
    means = np.stack([x[batch][codes == place].mean(axis=0) for place in range(len(categories))])
    return Groups([texts[row] for row in batch], codes, wanted, major, means)


def listed_terms(groups: Groups) -> list[str]:
    """The names of earlier versions: three terms by TF-IDF, with English stop words."""
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(ngram_range=(1, 2), stop_words="english", max_features=20_000)
    counts = counter.fit_transform(groups.texts)
    terms, n = counter.get_feature_names_out(), len(groups.texts)
    counts.data[:] = 1
    n_groups = len(groups.labels)
    by_group = (
        csr_matrix((np.ones(n), (groups.codes, np.arange(n))), shape=(n_groups, n)) @ counts
    ).toarray()
    sums = np.maximum(by_group.sum(axis=1, keepdims=True), 1)
    weight = by_group / sums * np.log1p(sums.mean() / np.maximum(by_group.sum(axis=0), 1))
    names = []
    for group in groups.wanted:
        own = np.where(by_group[group] >= 2, weight[group], 0)
        chosen: list[str] = []
        for place in np.lexsort((terms, -own))[:50]:
            fresh = not any(set(terms[place].split()) & set(other.split()) for other in chosen)
            if own[place] > 0 and len(chosen) < 3 and fresh:
                chosen.append(str(terms[place]))
        names.append(", ".join(chosen))
    return names


def first_term(groups: Groups) -> list[str]:
    return [name.split(",")[0] for name in listed_terms(groups)]


def phrases(groups: Groups) -> list[str]:
    names = phrase_names(
        groups.texts, groups.codes, len(groups.labels), wanted=groups.wanted, similarity=groups.similarity
    )
    return [own[0] if own else "" for own in names]


def truth(groups: Groups) -> list[str]:
    return [groups.labels[group].replace("_", " ") for group in groups.wanted]


def alike(one: str, other: str) -> bool:
    shared = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    shared = min(len(one), len(other)) if shared is None else shared
    longest = max(len(one), len(other))
    return (
        one == other or (shared >= 3 and longest - shared <= 1) or (shared >= 4 and shared >= 0.6 * longest)
    )


def holds_word(name: str, label: str) -> bool:
    words = [word for word in label.split("_") if word not in SMALL] or label.split("_")
    own = re.findall(r"[^\W_]+(?:'[^\W_]+)?", name.lower())
    return any(alike(one, other) for one in own for other in words)


def picks(groups: Groups, names: Sequence[str], model: Any) -> np.ndarray:
    """Whether each name is nearest to its own category, bool (W,)."""
    vectors = np.concatenate(
        [model.embed([name or "-" for name in names[i : i + 128]]) for i in range(0, len(names), 128)]
    )
    similarity, unit = groups.similarity, groups.means / np.linalg.norm(groups.means, axis=1, keepdims=True)
    right = []
    for vector, name, group in zip(vectors, names, groups.wanted, strict=True):
        near = np.argsort(-similarity[group])[:NEAREST]
        right.append(bool(name) and near[np.argmax(unit[near] @ vector)] == group)
    return np.array(right)


def measured(make: Callable[[Groups], list[str]], groups: Groups) -> tuple[list[str], float]:
    start = time.process_time()
    return make(groups), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--all", action="store_true", help="print every name")
    every = parser.parse_args().all
    model = embedder(kind="text")
    ways = {
        "before: three terms": listed_terms,
        "before: the first term": first_term,
        "after: a phrase": phrases,
        "the label itself": truth,
    }
    for title, groups in (("true", true_groups()), ("discovered", discovered_groups())):
        phrases(groups)  # what is made once is not counted
        rows, made = [], {}
        half = np.arange(len(groups.wanted)) % 2 == 1
        for way, make in ways.items():
            names, seconds = measured(make, groups)
            made[way] = names
            picked = picks(groups, names, model)
            held = np.array(
                [holds_word(n, groups.labels[g]) for n, g in zip(names, groups.wanted, strict=True)]
            )
            rows.append(
                (
                    way,
                    f"{picked.mean():.3f}",
                    f"{held.mean():.3f}",
                    *(
                        (f"{picked[half].mean():.3f}", f"{held[half].mean():.3f}")
                        if title == "true"
                        else "--"
                    ),
                    f"{np.mean([len(name.split()) for name in names]):.1f}",
                    len(names) - len(set(names)),
                    "" if make is truth else f"{seconds:.2f}",
                )
            )
        n, texts = len(groups.wanted), len(groups.texts)
        table(
            f"{n} {title} categories, {texts:,} texts",
            ("name", "picks", "a word", "other half", "a word", "words", "same", "CPU s"),
            rows,
        )
        step = 1 if every else max(n // 20, 1)
        chosen = list(range(0, n, step))[: n if every else 20]
        examples = [
            (groups.labels[groups.wanted[i]], made["before: three terms"][i], made["after: a phrase"][i])
            for i in chosen
        ]
        table(f"Names of {title} categories", ("label", "before", "after"), examples)
    console.print("picks: chance is 0.100.")


if __name__ == "__main__":
    main()

"""How good are automatic names? Judged on CLINC150, whose intents have names that people gave.

    python benchmarks/names.py                  the table, 20 examples, and the CPU time
    python benchmarks/names.py --all            every name
    python benchmarks/names.py --only true      only the true categories, or only the discovered ones

- *picks*: the name alone, embedded as a text, is nearest to its own category among the 10 nearest categories
  (means of held-out texts for the true ones, of its own items for discovered ones).
- *a word*: the name holds a word of the true label, also in another form; for a discovered category, of the
  label that most of its items have.

*before* is what names were in earlier versions: the three most distinctive terms, a list with commas (left
out where it is embedded). The constants of the phrases were chosen with the names of these very intents in
sight; CLINC150 is the only dataset here that has texts. Discovered categories come from a session with 75
labelled intents and 75 novel ones.
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
#: Words and English short forms, as names of earlier versions had them.
WORD = r"(?u)\b[^\W\d_]+(?:'[^\W\d_]+)+\b|\b[^\W\d_]{2,}\b"
SHORT = re.compile(r"\b[^\W\d_]+(?:n't|'(?:d|ll|m|re|ve))\b|'s\b", re.IGNORECASE)
#: Words of labels that say nothing: "are you a bot" is about a bot.
_SMALL = """a are can do for from how i in is made my on or the to up what when where who you your"""
SMALL = frozenset(_SMALL.split())


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
        """Cosine of the means, (K, K)."""
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

    counter = CountVectorizer(
        ngram_range=(1, 2), stop_words="english", token_pattern=WORD, max_features=20_000
    )
    counts = counter.fit_transform([SHORT.sub(" ", text.replace("’", "'")) for text in groups.texts])
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
    plain = [name.replace(",", "") or "-" for name in names]
    vectors = np.concatenate([model.embed(plain[i : i + 128]) for i in range(0, len(plain), 128)])
    similarity, unit = groups.similarity, groups.means / np.linalg.norm(groups.means, axis=1, keepdims=True)
    right = []
    for vector, name, group in zip(vectors, names, groups.wanted, strict=True):
        near = np.argsort(-similarity[group])[:NEAREST]
        right.append(bool(name) and near[np.argmax(unit[near] @ vector)] == group)
    return np.array(right)


def measured(make: Callable[[Groups], list[str]], groups: Groups) -> tuple[list[str], float]:
    start = time.process_time()
    return make(groups), time.process_time() - start


def judged(way: str, groups: Groups, model: Any) -> tuple[list[str], tuple[object, ...]]:
    """The names, and a row of the table."""
    names, seconds = measured(WAYS[way], groups)
    picked = picks(groups, names, model)
    held = np.array([holds_word(n, groups.labels[g]) for n, g in zip(names, groups.wanted, strict=True)])
    return names, (
        way,
        f"{picked.mean():.3f}",
        f"{held.mean():.3f}",
        f"{np.mean([len(name.split()) for name in names]):.1f}",
        len(names) - len(set(names)),
        "" if WAYS[way] is truth else f"{seconds:.2f}",
    )


WAYS: dict[str, Callable[[Groups], list[str]]] = {
    "before: three terms": listed_terms,
    "before: the first term": first_term,
    "after: a phrase": phrases,
    "the label itself": truth,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--all", action="store_true", help="print every name")
    parser.add_argument("--only", choices=("true", "discovered"))
    arguments = parser.parse_args()
    model = embedder(kind="text")
    for title, make in (("true", true_groups), ("discovered", discovered_groups)):
        if arguments.only not in (None, title):
            continue
        groups = make()
        for warm in (phrases, listed_terms):  # imports are not counted
            warm(groups)
        made = {way: judged(way, groups, model) for way in WAYS}
        n = len(groups.wanted)
        table(
            f"{n} {title} categories, {len(groups.texts):,} texts",
            (
                "name",
                "picks",
                "a word",
                "words",
                "same",
                "CPU s",
            ),
            [row for _, row in made.values()],
        )
        places = range(n) if arguments.all else np.linspace(0, n - 1, 20).astype(int)
        before, after = made["before: three terms"][0], made["after: a phrase"][0]
        examples = [(groups.labels[groups.wanted[i]], before[i], after[i]) for i in places]
        table(f"Names of {title} categories", ("label", "before", "after"), examples)
    console.print("picks: 0.100 by chance.")


if __name__ == "__main__":
    main()

"""Make the files of this folder; runs with vbcgcd 0.1.0 alone, and is kept to show how they were made.

python make.py: digits.zip and digits.npz/.json (a workspace, and what it answers), model.safetensors and
model.npz (a model, and what it answers).
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

import vbcgcd
from vbcgcd import CategoryDiscoverer, Workspace

HERE = Path(__file__).parent
FOLDER = Path("/tmp/digits")
SPELLED = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
MODEL = {"n_components": 8, "count": "evidence"}


def rounding():
    """What this machine's linear algebra makes of fixed numbers: equal bits elsewhere need equal ones."""
    a = np.random.default_rng(0).normal(size=(96, 64))
    parts = (a.T @ a, np.linalg.cholesky(a.T @ a), a.astype(np.float32).T @ a.astype(np.float32))
    return np.concatenate([part.ravel()[:200].astype(np.float64) for part in parts])


def pools():
    """Labelled rows of zero to five, batches without labels, more labels, and rows to predict."""
    rows, labels = load_digits(return_X_y=True)
    rows = rows.astype(np.float32)
    where = [np.flatnonzero(labels == digit) for digit in range(10)]

    def take(digits, start, stop):
        chosen = np.concatenate([where[digit][start:stop] for digit in digits])
        return rows[chosen], labels[chosen]

    return {
        "base": take(range(6), 0, 30),
        "first": take(range(8), 30, 55),
        "second": take(range(10), 55, 80),
        "more": take((1, 8, 9), 80, 110),
        "next": take(range(10), 110, 120),
        "probe": take(range(10), 120, 130),
    }


def make_workspace(data):
    """Every command once or more; the folder may not exist."""
    FOLDER.mkdir()
    workspace = Workspace.init(FOLDER / "digits", model=MODEL, sample=20)
    rows, labels = data["base"]
    workspace.learn(rows, SPELLED[labels])
    np.save(FOLDER / "monday.npy", data["first"][0])
    workspace.discover(FOLDER / "monday.npy", 2)
    workspace.rename(6, "curly")
    workspace.discover(data["second"][0])
    workspace.configure(reject=0.02, names="number")
    workspace.merge(["zero", "five"], name="round")
    workspace.split("four", data["second"][0], 2, names=["open", "closed"])
    workspace.drop("two")
    workspace.undo()
    workspace.redo()
    workspace.undo()
    workspace.learn(data["more"][0], SPELLED[data["more"][1]], update_known=True)
    workspace.rename("three", "drei")
    workspace.undo()
    return workspace


def write_workspace(data):
    """The export and its answers."""
    workspace = make_workspace(data)
    workspace.export(HERE / "digits.zip")
    probe = data["probe"][0]
    answers = {f"refusing_{k}": v for k, v in arrays(workspace.predict(probe)).items()}
    answers |= arrays(workspace.predict(probe, reject=0))
    pixels = {name: data[name][0].astype(np.uint8) for name in ("probe", "first", "next")}
    plain = {
        "release": vbcgcd.__version__,
        "files": workspace.verify(),
        "last_commit": workspace.last_commit,
        "config": workspace.config(),
        "embedder": workspace.embedder,
        "sessions": [session.as_dict() for session in workspace.sessions()],
        "categories": [category.as_dict() for category in workspace.categories(retired=True)],
        "history": [command.as_dict() for command in workspace.history()],
        "next_redo": workspace.next_redo().as_dict(),
        "changes": workspace.changes().as_dict(),
        "explain": workspace.explain(probe, row=3).as_dict(),
        "items": workspace.overview().items,
        "map": [item.as_dict() for item in workspace.overview().map],
    }
    (HERE / "digits.json").write_text(json.dumps(plain, indent=1, sort_keys=True) + "\n")
    workspace.discover(data["next"][0], 2)
    answers |= {f"next_{k}": v for k, v in arrays(workspace.predict(probe, reject=0)).items()}
    np.savez_compressed(HERE / "digits.npz", rounding=rounding(), **pixels, **answers)


def arrays(found):
    """The columns of predictions."""
    return {
        "names": np.array(found.name),
        **{
            name: getattr(found, name)
            for name in ("category", "probability", "novelty", "best", "second", "second_probability")
        },
    }


def write_model(data):
    """A model after one session, what it answers, and the outcome of one more session."""
    rows, labels = data["base"]
    model = CategoryDiscoverer(n_components=8, alignment=0.0).fit(rows, SPELLED[labels])
    model.discover(data["first"][0], n_novel=2)
    model.save(HERE / "model.safetensors")
    model = CategoryDiscoverer.load(HERE / "model.safetensors")
    probe, batch = data["probe"][0], data["second"][0]
    answers = {
        "classes": model.classes_.astype(str),
        "births": model.births_,
        "predict": model.predict(probe).astype(str),
        "predict_proba": model.predict_proba(probe),
        "novelty": model.novelty(probe),
        "score_samples": model.score_samples(probe),
    }
    report = model.discover(batch)
    answers |= {
        "session_labels": report.labels_.astype(str),
        "session_probabilities": report.probabilities_,
        "session_novelty": report.novelty_,
        "session_classes": model.classes_.astype(str),
        "session_predict_proba": model.predict_proba(probe),
    }
    np.savez_compressed(
        HERE / "model.npz",
        probe=probe.astype(np.uint8),
        batch=batch.astype(np.uint8),
        rounding=rounding(),
        **answers,
    )


if __name__ == "__main__":
    assert vbcgcd.__version__ == "0.1.0"
    everything = pools()
    with threadpool_limits(1):
        write_workspace(everything)
        write_model(everything)

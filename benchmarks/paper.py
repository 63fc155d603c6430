"""What the paper says about covariances, measured: alignment, its penalty, and the two ways to a posterior.

VBCGCD_DATA=... python benchmarks/paper.py [--data FILE ...]

For the first session of a plan (b50t5, seed 0) of each dataset, in the configuration of the paper with the
rows as wide as the prior (`paper`) and about ten times as wide (`paper-narrow`):

- the Bhattacharyya distance (equation 9) of each novel category to its nearest known one, without and with
  early stopping, and how much of it comes from the covariances;
- R (equation 11) after optimising the ELBO together with L_det (equation 10) at several weights;
- in 100 dimensions, the same session by SVI: R where it stops, and how many rows get the label that the exact
  path gives them.
"""

from __future__ import annotations

import argparse
import copy
from pathlib import Path
from typing import Any

import numpy as np

from common import data_folder, table
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import Posterior, bhattacharyya, volume_ratio
from vbcgcd.study.datasets import load_dataset
from vbcgcd.study.methods import METHODS
from vbcgcd.study.named import named_plan

FILES = (
    "clinc150-minilm.npz",
    "cifar100-efficientnet-lite0.npz",
    "stackoverflow20-minilm.npz",
    "esc50-yamnet.npz",
)
PENALTIES = (1.0, 10.0, 100.0, 1e6)
#: Dimensions in which SVI is compared with the exact path, and its steps: in 384 each step is far slower.
SVI_COMPONENTS, SVI_STEPS = 100, 300


def nearest_known(posterior: Posterior, n_known: int) -> tuple[float, float]:
    """Mean distance of novel categories to the nearest known one, and the part of the covariances in it."""
    distances, shares = [], []
    centred = Posterior(
        np.zeros_like(posterior.mean),
        posterior.kappa,
        posterior.nu,
        posterior.factor,
        posterior.structure,
    )
    for k in range(n_known, len(posterior)):
        gaps = ((posterior.mean[:n_known] - posterior.mean[k]) ** 2).sum(axis=1)
        few = np.argsort(gaps)[:3]  # the nearest by distance is among the nearest by mean
        found = {int(j): bhattacharyya(posterior, int(j), k) for j in few}
        nearest = min(found, key=found.__getitem__)
        distances.append(found[nearest])
        shares.append(bhattacharyya(centred, nearest, k) / found[nearest])
    return float(np.mean(distances)), float(np.mean(shares))


def session_of(model: CategoryDiscoverer, data: Any, plan: Any, **options: Any) -> tuple[Any, Any]:
    """A fitted model that learned the first session with other options, and the record."""
    learned = copy.deepcopy(model).set_params(**options)
    session = plan.sessions[0]
    return learned, learned.discover(data.train_x[session.rows], n_novel=len(session.novel))


def measure(path: Path, method: str) -> tuple[list[tuple], list[tuple], tuple]:
    data = load_dataset(path)
    plan = named_plan("b50t5", data.train_y, dataset=data.name, order="random", seed=0, junk_y=None)
    model = CategoryDiscoverer.paper(**METHODS[method].options)
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    n_known, name = len(model.classes_), f"{data.name}, {method}"
    distances = []
    stopped, record = session_of(model, data, plan)
    for words, options in (("never stopped", {"alignment": None}), ("stopped at R = 0", {})):
        learned, outcome = (stopped, record) if not options else session_of(model, data, plan, **options)
        distance, share = nearest_known(learned.posterior_, n_known)
        distances.append(
            (name, words, f"{np.mean(outcome.ratio_after):+.1f}", f"{distance:.2f}", f"{share:.2f}")
        )
    penalties = []
    for weight in PENALTIES:
        _, outcome = session_of(model, data, plan, alignment_penalty=weight, relabel="none")
        penalties.append(f"{np.abs(outcome.ratio_after).mean():.2f}")
    _, free = session_of(model, data, plan, alignment=None, relabel="none")
    return (
        distances,
        [(name, f"{np.abs(free.ratio_after).mean():.2f}", *penalties)],
        (name, *by_svi(data, plan, METHODS[method].options)),
    )


def by_svi(data: Any, plan: Any, options: Any) -> tuple[str, str, str, str]:
    """Categories whose R crosses 0 on the way, where they stop both ways, and rows labelled alike."""
    model = CategoryDiscoverer.paper(**options, n_components=SVI_COMPONENTS)
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    _, exact = session_of(model, data, plan)
    _, outcome = session_of(model, data, plan, inference="svi", svi_steps=SVI_STEPS)
    known = model.posterior_.log_det_covariance
    start = volume_ratio(np.array([model.prior_.log_det_covariance]), known)
    crossed = np.sign(outcome.ratio_before) != np.sign(start)
    landed = [
        f"{np.abs(np.asarray(record.ratio_after)[crossed]).max(initial=0.0):.3f}"
        for record in (exact, outcome)
    ]
    alike = float(np.mean(outcome.labels_ == exact.labels_))
    return f"{crossed.sum()} of {len(crossed)}", landed[0], landed[1], f"{100 * alike:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", help="files of embeddings; by default those of VBCGCD_DATA")
    args = parser.parse_args()
    paths = [Path(p) for p in args.data] if args.data else [data_folder() / name for name in FILES]
    found = [measure(path, method) for path in paths for method in ("paper", "paper-narrow")]
    table(
        "Bhattacharyya distance of novel categories to the nearest known one, session 1",
        ("", "training", "R", "distance", "share of the covariances"),
        [row for distances, _, _ in found for row in distances],
    )
    weights = [f"{w:g}" for w in PENALTIES]
    table(
        "Mean |R| after optimising ELBO - weight x L_det, rows of k-means",
        ("", "no penalty", *weights),
        [row for _, penalties, _ in found for row in penalties],
    )
    table(
        f"Session 1 by SVI beside the exact path, {SVI_COMPONENTS} dimensions",
        ("", "R crosses 0", "largest |R|, exact", "SVI", "same label, %"),
        [row for _, _, row in found],
    )


if __name__ == "__main__":
    main()

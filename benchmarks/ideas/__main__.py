"""The table: what each idea gains or loses against our search, on the same streams."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import ideas
from common import console, table
from head import gain
from ideas import consensus, hierarchy, margins, neighbours, transport
from ideas.trial import Tried, after_ours, alone, one_start, run
from streams import datasets
from vbcgcd.study.named import named_plan

IDEAS: dict[str, dict[str, Any]] = {
    "ours": {},
    "one start, no search": {"idea": one_start},
    "neighbour pairs, from one start": {"idea": alone(neighbours.refine)},
    "neighbour pairs, after ours": {"idea": after_ours(neighbours.refine)},
    "consensus of starts": {"idea": consensus.of_starts},
    "consensus of searches": {"idea": consensus.of_searches},
    "margins, from one start": {"idea": alone(margins.refine)},
    "margins, after ours": {"idea": after_ours(margins.refine)},
    "transport, from one start": {"idea": alone(transport.refine)},
    "transport, after ours": {"idea": after_ours(transport.refine)},
    "hierarchical prior": {"classify": hierarchy.common_strength},
    "hierarchical prior, own strengths": {"classify": hierarchy.own_strength},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=ideas.__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    parser.add_argument("--plan", default="b50t5")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of ideas")
    options = parser.parse_args()
    chosen = {
        name: how
        for name, how in IDEAS.items()
        if name == "ours" or not options.only or any(part in name for part in options.only)
    }
    for data_name, data in datasets(options.data).items():
        tried: dict[str, list[Tried]] = {name: [] for name in chosen}
        for seed in options.seeds:
            plan = named_plan(options.plan, data.train_y, dataset=data_name, seed=seed)
            for name, how in chosen.items():
                tried[name].append(run(data, plan, **how))
                console.print(f"{data_name} {seed} {name}: {100 * tried[name][-1].accuracy:.2f}", style="dim")
        ours = [run.accuracy for run in tried["ours"]]
        rows = [
            (
                name,
                f"{100 * np.mean([run.accuracy for run in runs]):.2f}",
                gain([run.accuracy - own for run, own in zip(runs, ours, strict=True)]),
                f"{np.mean([run.seconds for run in runs]):.1f}",
            )
            for name, runs in tried.items()
        ]
        seeds = " ".join(map(str, options.seeds))
        table(f"{data_name}, {options.plan}, seeds {seeds}", ("", "All", "gain", "CPU s"), rows)


if __name__ == "__main__":
    main()

"""Rows per second of embedding, prediction and statistics on each engine, against a loop without one.

    python benchmarks/engines.py --rows 1000000

The loop reads each shard, calls the library and writes or adds up the result: what one would write without an
engine. Wall time says little on a machine that others use, so the processor time of all processes together is
given as well; the overhead is its ratio to that of the loop, measured in the same run.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common import console, table
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import Statistics, statistics_by_label
from vbcgcd.discovery.knowledge import score
from vbcgcd.discovery.large.scheduling import computing_on
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.session import run_session
from vbcgcd.engine import Engine, group_blocks, open_engine
from vbcgcd.engine.processes import pickled
from vbcgcd.engine.tree import add
from vbcgcd.shards import (
    ShardedData,
    embed_shards,
    learn_shards,
    open_shards,
    predict_shards,
    shard_statistics,
)
from vbcgcd.shards.learning import count_labels
from vbcgcd.shards.rows import ShardRows
from vbcgcd.shards.statistics import STATISTICS_ROWS, GatherStatistics

SHARD_ROWS = 50_000
KINDS = ["prediction", "statistics", "embedding", "base session", "session"]


@dataclass(frozen=True)
class Measured:
    """Work that says with each result its processor time and the largest memory of the worker so far."""

    work: Any

    def load(self) -> Callable[[Any], Any]:
        """See `vbcgcd.engine.Work`."""
        since = [time.process_time()]  # what loading takes counts with the first block
        function = self.work.load()

        def run(block: Any) -> Any:
            value = function(block)
            seconds = time.process_time() - since[0]
            since[0] = time.process_time()
            return value, (seconds, peak_memory())

        return run


def peak_memory() -> int:
    """The largest memory of this process so far, in bytes; other counters know that of its parent as well."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


class Meter:
    """An engine whose work is measured."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.name, self.workers = engine, engine.name, engine.workers
        self.used, self.peak = 0.0, 0

    def map(self, work: Any, blocks: Any) -> Any:
        """See `vbcgcd.engine.Engine`."""
        return self._noted(self.engine.map(Measured(work), blocks))

    def sweep(self, work: Any, blocks: Any) -> Any:
        """As `map`, by Ray Data where there is Ray."""
        return self._noted(getattr(self.engine, "sweep", self.engine.map)(Measured(work), blocks))

    def _noted(self, results: Any) -> Any:
        for value, (seconds, peak) in results:
            self.used, self.peak = self.used + seconds, max(self.peak, peak)
            yield value


def write_rows(folder: Path, n: int, width: int, kinds: int) -> CategoryDiscoverer:
    """Labelled rows in shards, and a model of their categories."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(kinds, width)) * 0.6
    turn = rng.normal(size=(width, width)) / np.sqrt(width)
    folder.mkdir()
    for number, start in enumerate(range(0, n, SHARD_ROWS)):
        m = min(SHARD_ROWS, n - start)
        codes = rng.integers(kinds, size=m)
        rows = (centers[codes] + rng.normal(size=(m, width)) @ turn).astype(np.float32)
        flat = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), width)
        columns = {"id": np.arange(start, start + m), "label": codes, "embedding": flat}
        pq.write_table(pa.table(columns), folder / f"part-{number:05}.parquet", row_group_size=16_384)
        if number == 0:
            model = CategoryDiscoverer(count="evidence").fit(rows[:10_000], codes[:10_000])
    return model


def write_texts(folder: Path, n: int) -> None:
    words = ["card", "table", "weather", "music", "flight", "rain", "late", "money", "please", "when"]
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(n), 8)):
        texts = [f"{i} {' '.join(rng.choice(words, 9))}" for i in part]
        pq.write_table(pa.table({"text": texts}), folder / f"part-{number}.parquet")


def rows_of(path: Path) -> tuple[Any, np.ndarray]:
    shard = pq.read_table(path)
    vectors = shard["embedding"].combine_chunks()
    return shard, vectors.flatten().to_numpy().reshape(len(shard), -1)


def loop_predict(lake: Path, out: Path, model: CategoryDiscoverer) -> None:
    out.mkdir()
    for path in sorted(lake.iterdir()):
        shard, rows = rows_of(path)
        scores = score(model.knowledge_, rows)
        names = model.classes_
        pq.write_table(
            pa.table(
                {
                    "reference": [str(i) for i in shard["id"].to_pylist()],
                    "category": scores.best,
                    "name": [str(names[k]) for k in scores.best],
                    "probability": scores.probability,
                    "novelty": scores.novelty,
                    "second": scores.second,
                    "second_name": [str(names[k]) for k in scores.second],
                    "second_probability": scores.second_probability,
                }
            ),
            out / path.name,
            compression="zstd",
        )


def loop_statistics(lake: Path, model: CategoryDiscoverer) -> Statistics:
    total = None
    for path in sorted(lake.iterdir()):
        shard, rows = rows_of(path)
        reduced = model.reducer_.transform(rows)
        total = add(total, statistics_by_label(reduced, shard["label"].to_numpy(), len(model.classes_)))
    return total


def loop_embed(texts: Path, out: Path) -> None:
    from vbcgcd.embed import embed_items, embedder
    from vbcgcd.embed.parquet import write_embedded
    from vbcgcd.items import read_items

    out.mkdir()
    model = embedder(kind="text")
    for path in sorted(texts.iterdir()):
        items = read_items(path, text="text")
        result = embed_items(items, model, cache=None, workers=1)
        parts = [("", items.take(result.rows), result.vectors)]
        write_embedded(out / path.name, parts, None, (model.name, model.fingerprint))


def loop_learn(lake: Path) -> None:
    parts = [rows_of(path) for path in sorted(lake.iterdir())]
    labels = np.concatenate([shard["label"].to_numpy() for shard, _ in parts])
    CategoryDiscoverer().fit(np.concatenate([rows for _, rows in parts]), labels)


def learn(engine: Engine, data: ShardedData) -> None:
    found = count_labels(engine, data)
    codes = {label: k for k, label in enumerate(found.labels)}
    learn_shards(engine, data, codes, found.counts, Options())


def session(model: CategoryDiscoverer, data: ShardedData, engine: Engine | None = None) -> None:
    """An unlabelled session: the model knows half of the categories."""
    rows: Any = ShardRows(data, engine or open_engine("here"))
    if engine is None:
        rows = np.concatenate(list(rows.pieces()))
    n_known = len(model.classes_)
    with nullcontext() if engine is None else computing_on(engine):
        run_session(
            rows,
            model.knowledge_,
            model.options,
            labels_of=lambda n: np.arange(n_known + n),
            session=1,
            rng=model.options.generator(1),
        )


def half_known(lake: Path) -> CategoryDiscoverer:
    shard, rows = rows_of(sorted(lake.iterdir())[0])
    labels = shard["label"].to_numpy()[:20_000]
    known = labels <= labels.max() // 2
    return CategoryDiscoverer().fit(rows[:20_000][known], labels[known])


def kinds_of_work(folder: Path, model: CategoryDiscoverer, session_rows: int) -> dict[str, tuple[Any, Any]]:
    """Name -> the loop without an engine, and the same with one; each gets a new folder for its output."""
    lake, texts, n = folder / "lake", folder / "texts", len(model.classes_)
    data = open_shards(lake, kind="embedding", label="label", id="id")
    names = [str(name) for name in model.classes_]
    place = {int(name): k for k, name in enumerate(model.classes_)}
    known = {"ids": range(n), "names": names, "model": "m"}
    half = half_known(lake)
    few = replace(data, shards=data.shards[: max(session_rows // SHARD_ROWS, 1)])
    return {
        "prediction": (
            lambda out: loop_predict(lake, out, model),
            lambda engine, out: predict_shards(engine, data, out, model.knowledge_, **known),
        ),
        "statistics": (
            lambda out: loop_statistics(lake, model),
            lambda engine, out: shard_statistics(engine, data, place, model.reducer_, n_categories=n),
        ),
        "embedding": (
            lambda out: loop_embed(texts, out),
            lambda engine, out: embed_shards(engine, open_shards(texts), out),
        ),
        "base session": (lambda out: loop_learn(lake), lambda engine, out: learn(engine, data)),
        "session": (lambda out: session(half, few), lambda engine, out: session(half, few, engine)),
    }


def seconds_of(action: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor seconds of this process."""
    wall, own = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - own


def measure(name: str, workers: int, run: Any, out: Path) -> tuple[float, float, int]:
    """Wall seconds without starting the workers, processor seconds of all processes, and peak memory."""
    options: dict[str, Any] = {} if name == "here" else {"workers": workers}
    if name == "ray":
        options["object_store_memory"] = 200 * 2**20
    with open_engine(name, **options) as engine:
        list(engine.map(Warm(), range(4 * workers)))
        meter = Meter(engine)
        wall, own = seconds_of(lambda: run(meter, out))
    return wall, own if name == "here" else own + meter.used, meter.peak


@dataclass(frozen=True)
class Warm:
    """Import what the work needs, so that starting is not counted as working."""

    def load(self) -> Callable[[int], int]:
        """See `vbcgcd.engine.Work`."""
        import vbcgcd.shards.embedding
        import vbcgcd.shards.prediction
        import vbcgcd.shards.statistics  # noqa: F401

        return abs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--categories", type=int, default=50)
    parser.add_argument("--texts", type=int, default=1_600)
    parser.add_argument("--session-rows", type=int, default=100_000)
    parser.add_argument("--only", nargs="*", default=KINDS)
    parser.add_argument("--engines", nargs="*", default=["here", "processes", "ray"])
    parser.add_argument("--folder", type=Path, help="Where to write shards. Default: a temporary folder.")
    asked = parser.parse_args()
    if importlib.util.find_spec("ray") is None:
        asked.engines = [name for name in asked.engines if name != "ray"]
    folder = Path(tempfile.mkdtemp(dir=asked.folder))
    try:
        model = write_rows(folder / "lake", asked.rows, asked.width, asked.categories)
        write_texts(folder / "texts", asked.texts)
        for kind, (loop, run) in kinds_of_work(folder, model, asked.session_rows).items():
            if kind in asked.only:
                report(kind, asked, loop, run, folder)
        report_bytes(folder, model)
    finally:
        shutil.rmtree(folder)


def report_bytes(folder: Path, model: CategoryDiscoverer) -> None:
    """What is moved, beside what arithmetic says."""
    data = open_shards(folder / "lake", kind="embedding", label="label", id="id")
    n, width = len(model.classes_), data.width
    place = {int(name): k for k, name in enumerate(model.classes_)}
    groups = group_blocks(data.blocks(STATISTICS_ROWS))
    work = GatherStatistics(data, place, n, model.reducer_, "full")
    sent = len(pickled(work.load()(groups[0][:1])))
    names = [str(name) for name in model.classes_]
    written = predict_shards(
        open_engine("here"),
        replace(data, shards=data.shards[:1]),
        folder / "bytes",
        model.knowledge_,
        ids=range(n),
        names=names,
        model="m",
    )
    triangle = width * (width + 1) // 2
    answers = sum(shard.bytes for shard in written.shards) / written.rows
    on_disk = sum(path.stat().st_size for path in (folder / "lake").iterdir()) / data.rows
    lines = [
        ["a row of embeddings", f"{4 * width:,}", f"{on_disk:,.0f}"],
        ["the model, sent once to a worker", f"{4 * n * triangle:,}", f"{len(pickled(model.knowledge_)):,}"],
        ["statistics of a group of blocks", f"{8 * n * (triangle + width + 1):,}", f"{sent:,}"],
        ["groups of blocks", f"{-(-data.rows // (16 * STATISTICS_ROWS)):,}", f"{len(groups):,}"],
        ["a row of answers", "", f"{answers:,.0f}"],
    ]
    table("bytes", ("what", "on paper", "measured"), lines)


def report(kind: str, asked: Any, loop: Any, run: Any, folder: Path) -> None:
    n = {"embedding": asked.texts, "session": min(asked.session_rows, asked.rows)}.get(kind, asked.rows)
    wall, own = seconds_of(lambda: loop(folder / f"{kind}-loop"))
    lines = [["no engine", "", f"{n / wall:,.0f}", f"{own:.1f}", "1.00", ""]]
    for name in asked.engines:
        for workers in (1,) if name == "here" else (1, 2):
            took, used, peak = measure(name, workers, run, folder / f"{kind}-{name}-{workers}")
            memory = f"{peak / 2**20:,.0f}"
            lines.append([name, workers, f"{n / took:,.0f}", f"{used:.1f}", f"{used / own:.2f}", memory])
            console.print(kind, *lines[-1])
    columns = ("engine", "workers", "rows/s", "processor s", "overhead", "peak MB of a worker")
    table(f"{kind}: {n:,} rows", columns, lines)


if __name__ == "__main__":
    main()

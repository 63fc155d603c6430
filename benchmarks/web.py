"""The server under load, and the map with a million points.

python benchmarks/web.py load    # 20 visitors click for two minutes; 1,000 categories, 100,000 items
python benchmarks/web.py map     # a million points in a real browser
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from vbcgcd.workspace import Workspace

CATEGORIES, ITEMS, DIM = 1000, 100_000, 48
PAGES = ("status", "home", "categories", "category", "items", "doubtful", "sessions", "map", "review")


def synthetic(folder: Path, n_categories: int, n_items: int) -> Workspace:
    """A workspace of Gaussian categories, whose items come in five parts."""
    rng = np.random.default_rng(0)
    means = 6 * rng.normal(size=(n_categories, DIM))
    names = np.array([f"category {i:04}" for i in range(n_categories)])
    here = Workspace.init(folder, model={"n_components": DIM, "prior_strength": float(2 * DIM)})
    for part in range(5):
        labels = np.arange(n_items // 5) % n_categories
        rows = means[labels] + rng.normal(size=(len(labels), DIM))
        here.learn(rows.astype(np.float32), names[labels])
        print(f"session {part}: {len(labels)} items", file=sys.stderr)
    return here


class Server:
    """A server in a process of its own."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "vbcgcd", "serve", "--no-browser", "--workspace", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.base, self.token = self.address.split("/?token=")

    def ask(self, path: str, body: dict | None = None) -> tuple[float, int, bytes]:
        """Seconds, status and content of an answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}/api/v1/{path}", data, headers)
        started = time.perf_counter()
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return time.perf_counter() - started, answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return time.perf_counter() - started, error.code, error.read()

    def memory(self) -> float:
        """Resident memory in MB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024

    def seconds(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def click(server: Server, seed: int, end: float, times: dict, writes: list, think: float) -> None:
    """One visitor: looks around, and renames a category now and then."""
    rng = random.Random(seed)
    while time.monotonic() < end:
        page, category = rng.choice(PAGES), rng.randrange(CATEGORIES)
        path = {
            "category": f"categories/{category}",
            "items": f"categories/{category}/items?limit=50",
            "doubtful": "items?where=probability<0.5&limit=50",
        }.get(page, page)
        seconds, status, _ = server.ask(path)
        times.setdefault(page, []).append(seconds)
        assert status == 200, (path, status)
        if rng.random() < 0.05:
            name = f"renamed by {seed} at {time.monotonic():.6f}"
            seconds, status, _ = server.ask(f"categories/{category}/rename", {"name": name})
            times.setdefault("rename", []).append(seconds)
            if status == 200:
                writes.append((category, name))
        time.sleep(rng.expovariate(1 / think))


def load(visitors: int, seconds: float, think: float) -> None:
    """20 visitors for two minutes."""
    with tempfile.TemporaryDirectory() as folder:
        here = synthetic(Path(folder) / "large", CATEGORIES, ITEMS)
        before = here.last_commit
        server = Server(here.path)
        try:
            for page in PAGES[:4]:
                server.ask({"category": "categories/0"}.get(page, page))
            times: dict[str, list[float]] = {}
            writes: list[tuple[int, str]] = []
            end, started, spent = time.monotonic() + seconds, server.memory(), server.seconds()
            threads = [
                threading.Thread(target=click, args=(server, seed, end, times, writes, think))
                for seed in range(visitors)
            ]
            for thread in threads:
                thread.start()
            half = None
            while any(thread.is_alive() for thread in threads):
                if half is None and time.monotonic() > end - seconds / 2:
                    half = server.memory()
                time.sleep(0.2)
            ended, spent = server.memory(), server.seconds() - spent
        finally:
            server.process.terminate()
            server.process.wait()
        report(times, visitors, seconds)
        now = Workspace(here.path)
        print(f"memory of the server: {started:.0f} MB before, {half:.0f} half-way, {ended:.0f} after")
        print(f"processor time of the server: {spent:.1f} s; load of the machine {os.getloadavg()[0]:.1f}")
        renames = [c for c in now.history() if c.command == "rename" and c.commit > before]
        lost = len(writes) - len(renames)
        print(f"{len(writes)} renames were confirmed, {len(renames)} are in the log: {lost} lost")


def report(times: dict[str, list[float]], visitors: int, seconds: float) -> None:
    """Print a table of answer times."""
    table = Table(
        title=f"{visitors} visitors, {seconds:g} s, {CATEGORIES} categories, {ITEMS} items: milliseconds"
    )
    for name in ("request", "number", "median", "p95", "longest"):
        table.add_column(name, justify="left" if name == "request" else "right")
    rows = {**times, "all": [t for part in times.values() for t in part]}
    for name, part in rows.items():
        values = 1000 * np.array(part)
        table.add_row(
            name,
            str(len(part)),
            *(f"{v:.0f}" for v in (np.median(values), np.quantile(values, 0.95), values.max())),
        )
    Console(width=100).print(table)


def map_(points: int) -> None:
    """A million points: the first picture, and the time of frames while the map moves."""
    from playwright.sync_api import sync_playwright

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, 2)) * 12
    category = rng.integers(0, 200, points).astype("<i4")
    position = (centres[category] + rng.normal(size=(points, 2))).astype("<f4")
    zeros = np.zeros(points, dtype="<i4")
    data = b"".join(
        part.tobytes()
        for part in (
            position,
            category,
            category % 7,
            zeros,
            zeros,
            rng.random(points).astype("<f4"),
            zeros.astype("u1"),
        )
    )
    about = {
        "head": 1, "points": points, "states": ["guessed"], "sessions": list(range(7)),
        "categories": [
            {"id": i, "name": f"category {i}", "birth": i % 7, "labelled": 0, "x": float(x), "y": float(y)}
            for i, (x, y) in enumerate(centres)
        ],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        here = Workspace.init(Path(folder) / "small")
        here.learn([[0.0, 1.0], [0.2, 1.0], [5.0, 1.0], [5.2, 1.0]], ["low", "low", "high", "high"])
        server = Server(here.path)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("VBCGCD_CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
        )
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 820})
            page.route("**/api/v1/map", lambda route: route.fulfill(json=about))
            page.route("**/api/v1/map/points", lambda route: route.fulfill(body=data))
            page.goto(server.address)
            page.wait_for_selector("h1")
            started = time.perf_counter()
            page.get_by_role("link", name="Map").click()
            while not page.evaluate("Boolean(window.vbcgcdMap)"):
                time.sleep(0.01)
            page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            first = time.perf_counter() - started
            drawn = page.evaluate(
                """performance.now() - performance.getEntriesByType("resource")
                .find((one) => one.name.endsWith("/map/points")).responseEnd"""
            )
            frames = page.evaluate(
                """async () => { const { view, paint, painter } = window.vbcgcdMap; const times = [];
                for (let k = 0; k < 60; k += 1) { const start = performance.now();
                  view.x += 4 / view.scale; paint(true);
                  await new Promise(requestAnimationFrame); times.push(performance.now() - start); }
                return { times, kind: painter.kind }; }"""
            )
            page.screenshot(path="map-of-a-million.png")
        finally:
            browser.close()
            server.process.terminate()
            server.process.wait()
    values = np.array(frames["times"])
    middle, late = np.median(values), np.quantile(values, 0.95)
    print(
        f"{points:,} points by {frames['kind']}: first picture after {first:.2f} s, "
        f"{drawn / 1000:.2f} s after the points arrived (the test driver hands them over slowly)"
    )
    print(f"a frame while the map moves: {middle:.0f} ms (median), {late:.0f} ms (p95)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("load", "map"))
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument(
        "--think", type=float, default=1.0, help="mean seconds between two clicks of a visitor"
    )
    parser.add_argument("--points", type=int, default=1_000_000)
    given = parser.parse_args()
    if given.what == "load":
        load(given.visitors, given.seconds, given.think)
    else:
        map_(given.points)


if __name__ == "__main__":
    main()

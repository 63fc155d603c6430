"""The command line against a cluster: the same answers, and errors in one line."""

import json
import subprocess
import sys

from lake import read_lake, rows_of, write_lake


def command(folder, *words, code=0):
    """What the program prints, run on its own, as a person would."""
    line = [sys.executable, "-m", "vbcgcd", *words]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_the_whole_way_on_a_cluster(nodes, tmp_path):
    nodes_address = nodes.address
    rows, labels = rows_of(240)
    write_lake(tmp_path / "lake", rows, labels, n_shards=4)
    command(tmp_path, "init", "desk")
    desk, ray = tmp_path / "desk", ("--engine", "ray", "--address", nodes_address, "--workers", "1")
    command(desk, "learn", "../lake", "--label", "label", *ray)
    done = command(desk, "predict", "../lake", "-o", "../out", "--json", *ray)
    assert json.loads(done.stdout)["items"] == 240
    command(desk, "predict", "../lake", "-o", "../here", "--engine", "here")
    assert read_lake(tmp_path / "out").equals(read_lake(tmp_path / "here"))


def test_a_cluster_that_cannot_be_reached_is_one_line(tmp_path):
    rows, labels = rows_of(40)
    write_lake(tmp_path / "lake", rows, labels, n_shards=1)
    command(tmp_path, "init", "desk")
    words = ("learn", "../lake", "--label", "label", "--engine", "ray", "--address", "127.0.0.1:1")
    done = command(tmp_path / "desk", *words, code=2)
    assert done.stderr.startswith("Error in --address: The Ray cluster at 127.0.0.1:1 cannot be reached")
    assert "Traceback" not in done.stderr

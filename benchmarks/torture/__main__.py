"""Run the attacks and print the table; the exit code says whether anything happened that must not."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from torture.everything import ATTACKS
from torture.table import BAD, FINDINGS, HEADER, Counts, line, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="the version of the tests")
    parser.add_argument("--only", action="append", choices=list(ATTACKS), help="may be given several times")
    parser.add_argument("--tries", type=int, help="instead of the number of the attack")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total: Counts = Counter()
    spent = 0.0
    print(HEADER)
    for name in options.only or ATTACKS:
        counts, seconds = run(name, short=options.short, tries=options.tries, seed=options.seed)
        print(line(name, counts, seconds), flush=True)
        total += counts
        spent += seconds
    print(line("all", total, spent))
    for text in FINDINGS[:20]:
        print(text)
    sys.exit(any(total[word] for word in BAD))


if __name__ == "__main__":
    main()

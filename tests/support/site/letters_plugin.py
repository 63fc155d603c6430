"""An embedder of texts for tests, as an installed package offers one."""

import numpy as np


class Letters:
    """Counts letters."""

    name, kind, dimension, fingerprint, batch_size = "letters", "text", 4, "letters-1", 16

    def embed(self, items):
        return np.array([[len(t), t.count("1"), t.count("2"), sum(map(ord, t))] for t in items], float)


def make(argument, *, kind, **options):
    return Letters()

"""A second, much weaker embedding of a table of texts: hashed words and word pairs, projected at random.

Nothing is learned, so no text of the stream is seen early. It stands for an old backbone in the experiment
"backbone".

python benchmarks/hashed_texts.py texts.csv hashed.npz
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.random_projection import GaussianRandomProjection

from vbcgcd.study.datasets import load_items

source, target = sys.argv[1:3]
data = load_items(source)
hashed = HashingVectorizer(n_features=2**14, ngram_range=(1, 2))
project = GaussianRandomProjection(512, random_state=0)
train_x = project.fit_transform(hashed.transform(data.train.values))
test_x = project.transform(hashed.transform(data.test.values))
np.savez(
    target,
    train_x=train_x.astype(np.float32),
    train_y=data.train.labels,
    test_x=test_x.astype(np.float32),
    test_y=data.test.labels,
    names=np.array(data.class_names),
)
print(f"{target}: {len(train_x)} + {len(test_x)} texts, 512 dimensions")

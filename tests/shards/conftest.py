"""A lake of labelled embeddings, and a model that knows its categories."""

import pytest
from lake import fitted_model, rows_of, write_lake

from vbcgcd.engine import open_engine


@pytest.fixture(scope="session")
def model():
    return fitted_model()


@pytest.fixture
def lake(tmp_path):
    """Five shards with 420 rows in all, of four categories."""
    rows, labels = rows_of(420)
    return write_lake(tmp_path / "lake", rows, labels, team=[f"team {i % 3}" for i in range(420)])


@pytest.fixture
def here():
    return open_engine("here")


@pytest.fixture(scope="session")
def processes():
    with open_engine("processes", workers=2) as engine:
        yield engine

"""A real Ray cluster of two nodes on this machine, the second of which can be killed and comes back."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from lake import SITE

#: Bytes of shared memory of each node.
MEMORY = 80 * 2**20


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    ours = [item for item in items if here in item.path.parents]
    for item in ours:
        if importlib.util.find_spec("ray") is None:
            item.add_marker(pytest.mark.skip(reason="Ray is not installed; make test-cluster installs it"))
        else:  # of Ray itself, whose processes and sockets outlive a test
            for kind in ("ResourceWarning", "DeprecationWarning", "FutureWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


class TwoNodes:
    """A head with one processor, and a second node with another."""

    def __init__(self):
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.second = None
        self.kills = 0

    @property
    def address(self):
        return self.cluster.address

    def restore(self):
        """Both nodes are there."""
        if self.second is None:
            self.second = self.cluster.add_node(num_cpus=1, object_store_memory=MEMORY)

    def kill(self):
        """End the second node with everything on it, as when its power fails."""
        if self.second is not None:
            self.cluster.remove_node(self.second, allow_graceful=False)
            self.second = None
            self.kills += 1

    def shutdown(self):
        self.cluster.shutdown()


@pytest.fixture(scope="session")
def cluster():
    # Read by Ray when it starts, here and in its nodes.
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0")
    os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"
    paths = [str(Path(SITE).parent), SITE, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    sys.path.insert(0, SITE)
    nodes = TwoNodes()
    yield nodes
    sys.path.remove(SITE)
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()
    nodes.shutdown()


@pytest.fixture
def nodes(cluster):
    """The cluster with both of its nodes."""
    cluster.restore()
    return cluster


@pytest.fixture(scope="session")
def _connected(cluster):
    """One engine for all tests: it is still good after each of them, whatever happened to its nodes."""
    from vbcgcd.engine import open_engine

    cluster.restore()
    with open_engine("ray", address=cluster.address) as engine:
        assert engine.workers == 2
        yield engine


@pytest.fixture
def ray_engine(nodes, _connected):
    yield _connected
    _connected._let_go()  # its processors are free for whoever comes next

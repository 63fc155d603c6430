"""Engines by name."""

from __future__ import annotations

from typing import Any

from vbcgcd.checks import check_choice, check_number
from vbcgcd.engine.protocol import Engine
from vbcgcd.errors import InputError

#: The names of the engines.
ENGINES = ("here", "processes", "ray")

__all__ = ["ENGINES", "open_engine"]


def open_engine(
    name: str = "here", *, workers: int | None = None, address: str | None = None, **options: Any
) -> Engine:
    """An engine by its name; use it in a ``with`` block, which lets its workers go in the end.

    Parameters
    ----------
    name : {"here", "processes", "ray"}
        This process; processes of this machine; a Ray cluster.
    workers : int, optional
        Workers to compute with; None takes one for each processor, of this machine or of the cluster.
    address : str, optional
        Of a Ray cluster, ``HOST:PORT`` of its head or ``"auto"`` on one of its nodes. None takes
        ``RAY_ADDRESS`` from the environment, or starts Ray on this machine.
    **options
        Further options of `vbcgcd.engine.ray.RayEngine`.

    Examples
    --------
    >>> with open_engine("here") as engine:
    ...     engine.name
    'here'
    """
    check_choice("engine", name, ENGINES)
    check_number("workers", workers, low=1, whole=True, words=(None,))
    if address is not None and name != "ray":
        raise InputError(
            f"The engine {name!r} has no address; leave it out, or use the engine 'ray'.", option="address"
        )
    if name == "here":
        from vbcgcd.engine.here import Here

        if workers not in (None, 1):
            raise InputError(
                f"The engine 'here' is one process, got {workers} workers; use the engine 'processes'.",
                option="workers",
            )
        return Here()
    if name == "processes":
        from vbcgcd.engine.processes import Processes

        return Processes(workers)
    try:
        from vbcgcd.engine.ray import RayEngine
    except ImportError:
        raise InputError(
            "The engine 'ray' needs the package Ray, which is not installed; install it with "
            "pip install 'vbcgcd[cluster]', on every machine of the cluster.",
            option="engine",
        ) from None
    return RayEngine(workers, address, **options)

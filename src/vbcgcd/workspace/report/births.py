"""Colours by session of birth: grey for the base session, six that everyone can tell apart for the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Birth", "birth_colours"]

#: Colours after the grey one; the style sheet gives them a value in light and in dark.
COLOURS = 6


@dataclass(frozen=True)
class Birth:
    """A colour (class ``b0`` to ``b6``) and what it stands for."""

    css: str
    label: str


def birth_colours(births: Iterable[int]) -> tuple[dict[int, str], tuple[Birth, ...]]:
    """Class of each session of birth, and the legend.

    Up to six later sessions have a colour each; of more, neighbours share one.

    Examples
    --------
    >>> classes, legend = birth_colours([0, 0, 2, 5])
    >>> classes, [birth.label for birth in legend]
    ({0: 'b0', 2: 'b1', 5: 'b2'}, ['base session', 'session 2', 'session 5'])
    """
    sessions = sorted(set(births))
    classes = {session: "b0" for session in sessions if session == 0}
    legend = [Birth("b0", "base session")] if classes else []
    later = [session for session in sessions if session != 0]
    groups = min(COLOURS, len(later))
    for k in range(groups):
        part = later[len(later) * k // groups : len(later) * (k + 1) // groups]
        classes |= dict.fromkeys(part, f"b{k + 1}")
        text = f"session {part[0]}" if len(part) == 1 else f"sessions {part[0]} to {part[-1]}"
        legend.append(Birth(f"b{k + 1}", text))
    return classes, tuple(legend)

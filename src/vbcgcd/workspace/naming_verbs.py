"""The methods of `Workspace` that propose names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vbcgcd.checks import check_number
from vbcgcd.errors import WorkspaceWarning
from vbcgcd.workspace.batch import Embedding, Progress
from vbcgcd.workspace.queries.categories import find_category
from vbcgcd.workspace.snapshot import Key, Snapshot
from vbcgcd.workspace.trust import check_namer_setting
from vbcgcd.workspace.values import NameSuggestion

if TYPE_CHECKING:
    from vbcgcd.workspace.naming.namers import Namer
    from vbcgcd.workspace.naming.vocabulary import Vocabulary

__all__ = ["NamingVerbs"]


class NamingVerbs:
    """Propose names for categories; only `rename` gives them."""

    def suggest_names(
        self,
        keys: Key | Sequence[Key] | None = None,
        *,
        n: int = 3,
        namer: Namer | str | bool | None = None,
    ) -> tuple[NameSuggestion, ...]:
        """Names that categories could have, from what is known of them now. Nothing is renamed.

        Texts are read from the user's own files and from stored excerpts. A namer that the settings or the
        caller name is sent up to 12 of them for each category, shortened to 160 letters, and the names of 5
        similar categories.

        Parameters
        ----------
        keys : int, str or a sequence of them, optional
            Ids or names; by default all categories that have an automatic name.
        n : int
            At most so many names of each kind.
        namer : Namer, str or bool, optional
            Asked instead of the one that the settings name; False asks none.
        """
        from vbcgcd.workspace.queries.suggestions import suggest

        check_number("n", n, low=1, whole=True)
        now = self.snapshot()
        _ = now.base
        if keys is None:
            chosen = [c for c in now.state.live if c.named_by not in ("label", "user")]
        else:
            given = [keys] if isinstance(keys, str) or not isinstance(keys, Sequence) else list(keys)
            chosen = list({(c := find_category(now.state, key)).id: c for key in given}.values())
        asked = self._namer(now, namer)
        return suggest(now, chosen, n=n, namer=asked, vocabulary=self._vocabulary(now))

    def _namer(self, now: Snapshot, namer: Namer | str | bool | None) -> Namer | None:
        from vbcgcd.workspace.naming.namers import make_namer

        if namer is False:
            return None
        if namer is None or namer is True:
            check_namer_setting(now)
            namer = now.state.config.get("namer")
        return make_namer(namer) if isinstance(namer, str) else namer

    def _vocabulary(self, now: Snapshot) -> Vocabulary | None:
        """The words of the settings with their vectors; None where the embedder understands no texts."""
        words = now.state.config.get("vocabulary")
        if not words or (now.state.embedder or {}).get("kind") != "image":
            return None
        from vbcgcd.workspace.naming.vocabulary import embedded

        try:
            return embedded(words, self._embedding(now).ready("image"))
        except Exception as error:  # a session succeeds whatever an embedder of others does
            warnings.warn(f"The vocabulary was not used: {error}", WorkspaceWarning, stacklevel=3)
            return None

    if TYPE_CHECKING:

        def snapshot(self) -> Snapshot: ...  # noqa: D102

        def _embedding(self, now: Snapshot, progress: Progress = None) -> Embedding: ...

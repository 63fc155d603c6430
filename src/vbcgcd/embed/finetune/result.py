"""What fine-tuning reports, while it runs and at its end."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["EpochRecord", "FinetuneProgress", "FinetuneResult"]


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """The figures of one epoch; None where there is nothing to measure.

    Attributes
    ----------
    epoch : int
        0 is the frozen backbone before training, with validation figures only.
    loss, cross_entropy, contrastive : float or None
        Means over the training views, ``loss = (1 - lambda) cross_entropy + lambda contrastive``.
    train_accuracy : float or None
        The head's accuracy on the training views, in training mode.
    validation_loss, validation_head : float or None
        Cross-entropy and accuracy of the head on the validation rows.
    validation_ncm : float or None
        Accuracy of the nearest mean of the training rows' categories, on the validation rows.
    learning_rate : float or None
        At the epoch's end.
    seconds : float
        Not part of a comparison.
    """

    epoch: int
    loss: float | None = None
    cross_entropy: float | None = None
    contrastive: float | None = None
    train_accuracy: float | None = None
    validation_loss: float | None = None
    validation_head: float | None = None
    validation_ncm: float | None = None
    learning_rate: float | None = None
    seconds: float = field(default=0.0, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class FinetuneProgress:
    """A moment of fine-tuning, given to the ``progress`` function.

    Attributes
    ----------
    stage : str
        ``"start"`` once (``message`` says what is tuned), ``"batch"`` after each step, ``"epoch"`` after each
        epoch and after the measurement of the frozen start, ``"end"`` once.
    epoch, epochs : int
    batch, batches : int
        Steps done in this epoch, and of how many.
    loss, train_accuracy : float or None
        Means over the epoch so far.
    record : EpochRecord or None
        With ``"epoch"``.
    best_epoch : int
    message : str
    """

    stage: str
    epoch: int = 0
    epochs: int = 0
    batch: int = 0
    batches: int = 0
    loss: float | None = None
    train_accuracy: float | None = None
    record: EpochRecord | None = None
    best_epoch: int = 0
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class FinetuneResult:
    """What fine-tuning made.

    Attributes
    ----------
    folder : Path
        Open it with ``load_finetuned(folder)``.
    history : tuple of EpochRecord
        From epoch 0, the frozen start.
    best_epoch : int
        The epoch whose weights are in the folder; 0 where no epoch beat the frozen backbone.
    stopped_early : bool
    layers : tuple of str
        Names of the tuned layers.
    n_trained, n_frozen : int
        Numbers of adapter and of backbone parameters.
    n_train, n_validation : int
        Labelled rows of each kind.
    skipped : tuple of (str, str)
        Images that could not be read, with the reason (``broken="skip"``).
    fingerprint : str
        Of the embedder: equal fingerprints mean equal embeddings.
    """

    folder: Path
    history: tuple[EpochRecord, ...]
    best_epoch: int
    stopped_early: bool
    layers: tuple[str, ...]
    n_trained: int
    n_frozen: int
    n_train: int
    n_validation: int
    skipped: tuple[tuple[str, str], ...]
    fingerprint: str

    def summary(self) -> str:
        """A few lines for people."""
        lines = [
            f"{len(self.layers)} layers tuned, {self.n_trained:,} parameters beside {self.n_frozen:,} frozen "
            f"ones; {self.n_train:,} rows trained, {self.n_validation:,} validated."
        ]
        start, best = self.history[0].validation_ncm, self._best.validation_ncm
        if start is not None and best is not None:
            lines.append(
                f"Nearest class mean on the validation rows: {100 * start:.2f} % frozen, "
                f"{100 * best:.2f} % at epoch {self.best_epoch}, which is kept."
            )
        if self.best_epoch == 0:
            lines.append("No epoch beat the frozen backbone: the adapters are left at their start.")
        if self.stopped_early:
            lines.append(f"Stopped after epoch {self.history[-1].epoch}: no better epoch since.")
        if self.skipped:
            lines.append(f"{len(self.skipped)} images could not be read and were left out.")
        return "\n".join([*lines, f"Written to {self.folder}."])

    @property
    def _best(self) -> EpochRecord:
        return next(r for r in self.history if r.epoch == self.best_epoch)

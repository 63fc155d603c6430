"""What fine-tuning reports while it runs and at its end, and how a terminal shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vbcgcd.items import Failure

COLUMNS = ("epoch", "loss", "CE", "contr.", "train %", "head %", "NCM %", "s", "")

__all__ = ["EpochRecord", "FinetuneProgress", "FinetuneResult", "LiveFinetune"]


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """The figures of one epoch; None where nothing was measured.

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
        Accuracy of the nearest class mean of the training rows, on the validation rows.
    learning_rate : float or None
        At the end of the epoch.
    seconds : float
        Duration; ignored when records are compared.

    Examples
    --------
    >>> EpochRecord(epoch=1, loss=0.5, seconds=3.0) == EpochRecord(epoch=1, loss=0.5, seconds=4.0)
    True
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

    def as_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class FinetuneProgress:
    """One moment of fine-tuning, passed to the ``progress`` function.

    Attributes
    ----------
    stage : str
        ``"start"`` once (``message`` says what is tuned), ``"batch"`` after each step, ``"epoch"`` after each
        epoch and after the measurement of the frozen start, ``"end"`` once.
    epoch, epochs : int
        The current epoch, and the number of epochs.
    batch, batches : int
        Finished steps of this epoch, and the number of its steps.
    loss, train_accuracy : float or None
        Means over the epoch so far.
    record : EpochRecord or None
        The figures of the epoch, at the stage ``"epoch"``.
    best_epoch : int
        The best epoch so far.
    message : str
        Text for people, at the stages ``"start"`` and ``"end"``.

    Examples
    --------
    >>> moment = FinetuneProgress(stage="batch", epoch=1, epochs=10, batch=3, batches=20, loss=0.5)
    >>> f"epoch {moment.epoch}/{moment.epochs}, step {moment.batch}/{moment.batches}: loss {moment.loss}"
    'epoch 1/10, step 3/20: loss 0.5'
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
    """The outcome of fine-tuning.

    Attributes
    ----------
    folder : Path
        Open it with ``load_finetuned(folder)``.
    history : tuple of EpochRecord
        From epoch 0, the frozen start.
    best_epoch : int
        The epoch whose weights are in the folder; 0 if no epoch beat the frozen backbone.
    stopped_early : bool
        Whether training ended before the last epoch for lack of improvement.
    layers : tuple of str
        Names of the tuned layers.
    n_trained, n_frozen : int
        Numbers of adapter parameters and of backbone parameters.
    n_train, n_validation : int
        Numbers of labelled pictures for training and for validation.
    skipped : tuple of Failure
        Pictures that could not be read, with the reason (option ``broken="skip"``).
    fingerprint : str
        Of the embedder: equal fingerprints mean equal embeddings.

    Examples
    --------
    >>> frozen, tuned = EpochRecord(epoch=0, validation_ncm=0.5), EpochRecord(epoch=1, validation_ncm=0.75)
    >>> result = FinetuneResult(
    ...     folder=Path("tuned"), history=(frozen, tuned), best_epoch=1, stopped_early=False, n_trained=10,
    ...     layers=("query",), n_frozen=90, n_train=80, n_validation=20, skipped=(), fingerprint="",
    ... )
    >>> result.history[result.best_epoch].validation_ncm
    0.75
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
    skipped: tuple[Failure, ...]
    fingerprint: str

    def summary(self) -> str:
        """A few lines of text."""
        lines = [
            f"{len(self.layers)} layers tuned: {self.n_trained:,} trained and {self.n_frozen:,} frozen "
            f"parameters; {self.n_train:,} pictures for training, {self.n_validation:,} for validation."
        ]
        start, best = self.history[0].validation_ncm, self._best.validation_ncm
        if start is not None and best is not None:
            lines.append(
                f"Accuracy of the nearest class mean on the validation pictures: {100 * start:.2f} % frozen, "
                f"{100 * best:.2f} % at the best epoch, {self.best_epoch}."
            )
        if self.best_epoch == 0:
            lines.append("No epoch beat the frozen backbone, so the adapters have no effect.")
        if self.stopped_early:
            lines.append(f"Stopped early, after epoch {self.history[-1].epoch}: it no longer improved.")
        if self.skipped:
            lines.append(f"{len(self.skipped)} pictures could not be read and were left out.")
        return "\n".join([*lines, f"Written to {self.folder}."])

    @property
    def _best(self) -> EpochRecord:
        return next(r for r in self.history if r.epoch == self.best_epoch)


class LiveFinetune:
    """A progress function for ``finetune`` that draws a bar per epoch and prints a line of figures after it.

    Parameters
    ----------
    console : rich Console, optional
        Where to draw; None takes standard error, so that results can be piped.

    Examples
    --------
    >>> from io import StringIO
    >>> out = StringIO()
    >>> with LiveFinetune(Console(file=out, width=80)) as live:
    ...     live(FinetuneProgress(stage="epoch", record=EpochRecord(epoch=0, validation_ncm=0.5)))
    >>> "50.00" in out.getvalue()
    True
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self.task = self.bars.add_task("", total=None, figures="", visible=False)
        self.has_header = False

    def __enter__(self) -> LiveFinetune:
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def __call__(self, moment: FinetuneProgress) -> None:
        """Show one moment of fine-tuning."""
        if moment.stage == "batch":
            figures = f"loss {_figure(moment.loss)}  train {_figure(moment.train_accuracy, 100)} %"
            self.bars.update(
                self.task,
                description=f"epoch {moment.epoch}/{moment.epochs}",
                completed=moment.batch,
                total=moment.batches,
                figures=figures,
                visible=True,
            )
        elif moment.record is not None:
            self._line(moment.record, best=moment.best_epoch == moment.record.epoch)
        elif moment.stage == "start":
            self.console.print(moment.message, highlight=False, markup=False)

    def _line(self, record: EpochRecord, *, best: bool) -> None:
        if not self.has_header:
            self.console.print("".join(f"{c:>8}" for c in COLUMNS), highlight=False)
            self.has_header = True
        cells = (
            str(record.epoch),
            _figure(record.loss),
            _figure(record.cross_entropy),
            _figure(record.contrastive),
            _figure(record.train_accuracy, 100),
            _figure(record.validation_head, 100),
            _figure(record.validation_ncm, 100),
            f"{record.seconds:.1f}",
            "best" if best else "",
        )
        self.console.print("".join(f"{c:>8}" for c in cells).rstrip(), highlight=False)


def _figure(value: float | None, scale: int = 1) -> str:
    if value is None:
        return "-"
    return f"{scale * value:.2f}" if scale != 1 else f"{value:.4f}"

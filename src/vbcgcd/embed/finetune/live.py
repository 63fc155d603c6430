"""Fine-tuning in the terminal: a bar for the epoch, a line of figures after each."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vbcgcd.embed.finetune.result import EpochRecord, FinetuneProgress

COLUMNS = ("epoch", "loss", "CE", "contr.", "train %", "head %", "NCM %", "s", "")

__all__ = ["LiveFinetune"]


class LiveFinetune:
    """Function for ``finetune(progress=...)`` and its context.

    Parameters
    ----------
    console : rich Console, optional
        None writes to standard error, so that results can be piped.

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
        self.headed = False

    def __enter__(self) -> LiveFinetune:
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def __call__(self, moment: FinetuneProgress) -> None:
        """Show one moment."""
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
        if not self.headed:
            self.console.print("".join(f"{c:>8}" for c in COLUMNS), highlight=False)
            self.headed = True
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

from io import StringIO

from rich.console import Console

from vbcgcd.embed.finetune.result import EpochRecord, FinetuneProgress, LiveFinetune


def test_figures_are_shown_line_by_line():
    out = StringIO()
    with LiveFinetune(Console(file=out, width=80)) as live:
        live(FinetuneProgress(stage="start", message="BOFT on 6 layers [mlp]"))
        live(FinetuneProgress(stage="epoch", record=EpochRecord(epoch=0, validation_ncm=0.25)))
        live(
            FinetuneProgress(
                stage="batch", epoch=1, epochs=2, batch=3, batches=9, loss=1.5, train_accuracy=0.5
            )
        )
        record = EpochRecord(epoch=1, loss=1.25, validation_head=0.5, validation_ncm=0.75)
        live(FinetuneProgress(stage="epoch", record=record, best_epoch=1))
        live(FinetuneProgress(stage="end", message="the summary"))
    lines = [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]
    assert lines[0] == "BOFT on 6 layers [mlp]"
    assert "NCM %" in lines[1]
    assert "25.00" in lines[2]
    last = next(line for line in lines if "1.2500" in line)
    assert "75.00" in last
    assert last.endswith("best")
    assert all(len(line) <= 80 for line in lines)

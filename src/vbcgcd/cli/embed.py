"""``vbcgcd embed`` and ``vbcgcd finetune``: pictures and texts to embeddings."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vbcgcd.cli.common import console, errors_are_messages, wrong

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table (CSV, JSONL, Parquet), a folder of pictures, arrays or a dataset.",
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Column of a table that holds the labels.")]
Image = Annotated[str | None, typer.Option("--image", help="Column of a table that holds paths of pictures.")]
Device = Annotated[str | None, typer.Option("--device", help="cpu, cuda or mps; without it the fastest.")]


class Precision(StrEnum):
    """Arithmetic of the forward pass."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class Adapter(StrEnum):
    """What is tuned."""

    BOFT = "boft"
    LORA = "lora"


@errors_are_messages
def embed(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the embeddings (.npz).")],
    embedder: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="Name or path: dino-vitb16, dino-vits16, dinov2-vitb14, a model of transformers or "
            "sentence-transformers, timm:NAME, a checkpoint, a fine-tuned folder. Without it: the offline "
            "default for what DATA holds.",
        ),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Column of a table with the texts.")] = None,
    image: Image = None,
    label: Label = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Column of a table that tells train from test.")
    ] = None,
    size: Annotated[int | None, typer.Option(help="Side in pixels that pictures are brought to.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Items in one forward pass.")] = None,
    device: Device = None,
    precision: Annotated[Precision, typer.Option(help="Arithmetic of the forward pass.")] = Precision.FLOAT32,
    workers: Annotated[int | None, typer.Option(help="Threads that read and prepare items.")] = None,
    cache: Annotated[bool, typer.Option(help="Keep embeddings, so that none is computed twice.")] = True,
) -> None:
    """Embed pictures or texts into a file that a study and a workspace read.

    Interrupted, the same command goes on where it stopped. Items that cannot be read are named at the end and
    left out.

    Example: vbcgcd embed tickets.csv -o tickets.npz

    Example: vbcgcd embed photos/ -o photos.npz --with dinov2-vitb14
    """
    from vbcgcd.embed import embed_parts
    from vbcgcd.study.datasets import dataset_parts

    if output.exists() and data.exists() and output.samefile(data):
        raise wrong(f"{output} is the data itself; choose another name for the embeddings.")
    columns = {"text": text, "image": image, "label": label}
    parts, names = dataset_parts(data, split=split, **{k: v for k, v in columns.items() if v is not None})
    options = {"size": size, "batch_size": batch_size, "device": device, "precision": precision.value}
    done = embed_parts(
        parts,
        output,
        names=names,
        embedder=embedder,
        options={k: v for k, v in options.items() if v is not None},
        cache=cache,
        progress=True,
        workers=workers,
    )
    if done.summary():
        console(stderr=True).print(done.summary(), style="yellow", markup=False)
    shapes = ", ".join(
        f"{name or 'items'} {len(part.rows)} x {part.vectors.shape[1]} ({part.reused} from the cache)"
        for name, part in done.parts.items()
    )
    console().print(f"{output}: {shapes}, by {done.embedder}", markup=False)


@errors_are_messages
def finetune(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the fine-tuned backbone.")],
    backbone: Annotated[
        str, typer.Option("--backbone", help="Vision transformer to start from: a name or a path.")
    ] = "dino-vitb16",
    adapter: Annotated[Adapter, typer.Option("--adapter", help="What is tuned.")] = Adapter.BOFT,
    epochs: Annotated[int, typer.Option(help="Passes over the labelled pictures.")] = 10,
    learning_rate: Annotated[float, typer.Option(help="Highest rate of AdamW.")] = 1e-3,
    contrastive_weight: Annotated[
        float, typer.Option(help="Weight of the contrastive loss, between 0 and 1.")
    ] = 0.1,
    batch_size: Annotated[int, typer.Option(help="Pictures in a step.")] = 128,
    validation_share: Annotated[float, typer.Option(help="Share of the labelled pictures set aside.")] = 0.1,
    patience: Annotated[int, typer.Option(help="Stop after so many epochs without a better one.")] = 3,
    image: Image = None,
    label: Label = None,
    size: Annotated[int | None, typer.Option(help="Side in pixels that pictures are brought to.")] = None,
    device: Device = None,
    workers: Annotated[int | None, typer.Option(help="Threads that open and augment pictures.")] = None,
    seed: Annotated[int, typer.Option(help="Decides the split, the views and the order.")] = 0,
    skip_broken: Annotated[bool, typer.Option(help="Leave out pictures that cannot be opened.")] = False,
    resume: Annotated[bool, typer.Option(help="Go on from a checkpoint in the folder.")] = True,
) -> None:
    """Fine-tune a vision transformer once, on labelled pictures; then embed with the result.

    Of a dataset with a train and a test part only the train part is read; rows without a label are never
    opened. Give the labelled pictures only: a class that is to be discovered must not be in them.

    Example: vbcgcd finetune labelled/ -o tuned --backbone dino-vitb16

    Example: vbcgcd embed photos/ -o photos.npz --with tuned
    """
    from vbcgcd.embed.finetune import finetune as run
    from vbcgcd.study.datasets import dataset_parts

    columns = {"image": image, "label": label}
    parts, _ = dataset_parts(data, **{k: v for k, v in columns.items() if v is not None})
    result = run(
        parts.get("train", parts.get("")),
        backbone=backbone,
        out_folder=output,
        method=adapter.value,
        epochs=epochs,
        learning_rate=learning_rate,
        contrastive_weight=contrastive_weight,
        batch_size=batch_size,
        validation_share=validation_share,
        patience=patience,
        size=size,
        device=device,
        workers=workers,
        random_state=seed,
        broken="skip" if skip_broken else "error",
        resume=resume,
        progress=True,
    )
    console().print(result.summary(), markup=False)

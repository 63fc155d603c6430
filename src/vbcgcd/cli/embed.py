"""``vbcgcd embed`` and ``vbcgcd finetune``: from pictures and texts to embeddings.

Parameters are named as in the library, so that an error of the library points at its option here.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vbcgcd.cli import arguments as a
from vbcgcd.cli.common import console, errors_are_messages, manner
from vbcgcd.cli.engines import check_engine, embed_folder
from vbcgcd.errors import InputError

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table (CSV, JSONL, Parquet), a folder of pictures, NumPy arrays or a dataset.",
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Column of a table with the labels.")]
Image = Annotated[str | None, typer.Option("--image", help="Column of a table with the paths of pictures.")]
Size = Annotated[int | None, typer.Option(help="Side in pixels to which pictures are resized.")]
Device = Annotated[
    str | None, typer.Option("--device", help="cpu, cuda or mps; by default the fastest one available.")
]


class Precision(StrEnum):
    """Arithmetic of the forward pass."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class Adapter(StrEnum):
    """Kind of adapters."""

    BOFT = "boft"
    LORA = "lora"


@errors_are_messages
def embed(
    data: DataArgument,
    out_path: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the embeddings: .npz, or .parquet with the texts; with --engine a folder.",
        ),
    ],
    embedder: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="Name or path of an embedder: dino-vitb16, dino-vits16, dinov2-vitb14, pixels, a model of "
            "transformers or sentence-transformers, model2vec:FOLDER, timm:NAME, a checkpoint, or a "
            "fine-tuned folder. By default the offline embedder for pictures or texts.",
        ),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Column of a table with the texts.")] = None,
    image: Image = None,
    label: Label = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Column of a table that separates train from test.")
    ] = None,
    size: Size = None,
    batch_size: Annotated[int | None, typer.Option(help="Items per forward pass.")] = None,
    device: Device = None,
    precision: Annotated[Precision, typer.Option(help="Arithmetic of the forward pass.")] = Precision.FLOAT32,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Threads that read and prepare items; with --engine, its workers."),
    ] = None,
    cache: Annotated[bool, typer.Option(help="Cache embeddings, so that none is computed twice.")] = True,
    engine: a.Engine = None,
    address: a.Address = None,
) -> None:
    """Embed pictures or texts into a file that studies and workspaces read.

    With --engine, DATA is a folder of Parquet shards with texts or paths of pictures, and so is the output.

    After an interruption, the same command continues where it stopped. Items that cannot be read are left out
    and listed at the end.

    Example: vbcgcd embed tickets.csv -o tickets.npz

    Example: vbcgcd embed tickets.csv -o tickets.parquet

    Example: vbcgcd embed photos/ -o photos.npz --with dinov2-vitb14

    Example: vbcgcd embed lake/ -o vectors/ --engine processes --workers 4
    """
    columns = {"text": text, "image": image, "label": label}
    options = {"size": size, "batch_size": batch_size, "device": device, "precision": precision.value}
    if check_engine(engine, address=address):
        if split is not None:
            raise InputError("Shards have no parts; leave out the split.", option="split")
        options = {k: v for k, v in options.items() if v is not None}
        embed_folder(data, out_path, embedder, options, columns, (engine, address, workers))
        return
    from vbcgcd.embed import embed_parts
    from vbcgcd.study.datasets import dataset_parts

    if out_path.exists() and data.exists() and out_path.samefile(data):
        raise InputError(
            f"{out_path} is the data itself; choose another name for the embeddings.", option="out_path"
        )
    parts, names = dataset_parts(data, split=split, **{k: v for k, v in columns.items() if v is not None})
    result = embed_parts(
        parts,
        out_path,
        names=names,
        embedder=embedder,
        options={k: v for k, v in options.items() if v is not None},
        cache=cache,
        progress=not manner().quiet,
        workers=workers,
    )
    if result.summary():
        console(stderr=True).print(result.summary(), style="yellow", markup=False)
    shapes = ", ".join(
        f"{name or 'items'} {len(part.rows)} x {part.vectors.shape[1]} ({part.reused} from the cache)"
        for name, part in result.parts.items()
    )
    console().print(f"Wrote {out_path}: {shapes}, embedded by {result.embedder}.", markup=False)


@errors_are_messages
def finetune(
    data: DataArgument,
    out_folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for the fine-tuned backbone.")],
    backbone: Annotated[
        str, typer.Option("--backbone", help="Vision transformer to start from: a name or a path.")
    ] = "dino-vitb16",
    method: Annotated[Adapter, typer.Option("--adapter", help="Kind of adapters.")] = Adapter.BOFT,
    epochs: Annotated[int, typer.Option(help="Passes over the labelled pictures.")] = 10,
    learning_rate: Annotated[float, typer.Option(help="Highest learning rate of AdamW.")] = 1e-3,
    contrastive_weight: Annotated[
        float, typer.Option(help="Weight of the contrastive loss, between 0 and 1.")
    ] = 0.1,
    batch_size: Annotated[int, typer.Option(help="Pictures per step.")] = 128,
    validation_share: Annotated[
        float, typer.Option(help="Share of the labelled pictures to set aside for validation.")
    ] = 0.1,
    patience: Annotated[int, typer.Option(help="Stop after this many epochs without improvement.")] = 3,
    image: Image = None,
    labels: Label = None,
    size: Size = None,
    device: Device = None,
    workers: Annotated[int | None, typer.Option(help="Threads that open and augment pictures.")] = None,
    random_state: Annotated[
        int, typer.Option("--seed", help="Seed of the split, the views and their order.")
    ] = 0,
    broken: Annotated[
        bool,
        typer.Option("--skip-broken/--no-skip-broken", help="Leave out pictures that cannot be opened."),
    ] = False,
    resume: Annotated[bool, typer.Option(help="Continue from a checkpoint in the folder.")] = True,
) -> None:
    """Fine-tune a vision transformer once, on labelled pictures; then embed with the result.

    Of a dataset with a train and a test part only the train part is read, and pictures without a label are
    never opened. Provide labelled pictures only: a class that is to be discovered must not be among them.

    Example: vbcgcd finetune labelled/ -o tuned --backbone dino-vitb16

    Example: vbcgcd embed photos/ -o photos.npz --with tuned
    """
    from vbcgcd.embed.finetune import finetune as run
    from vbcgcd.study.datasets import dataset_parts

    columns = {"image": image, "label": labels}
    parts, _ = dataset_parts(data, **{k: v for k, v in columns.items() if v is not None})
    result = run(
        parts.get("train", parts.get("")),
        backbone=backbone,
        out_folder=out_folder,
        method=method.value,
        epochs=epochs,
        learning_rate=learning_rate,
        contrastive_weight=contrastive_weight,
        batch_size=batch_size,
        validation_share=validation_share,
        patience=patience,
        size=size,
        device=device,
        workers=workers,
        random_state=random_state,
        broken="skip" if broken else "error",
        resume=resume,
        progress=not manner().quiet,
    )
    console().print(result.summary(), markup=False)

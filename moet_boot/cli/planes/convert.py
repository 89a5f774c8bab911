"""`moet-boot planes convert`."""

from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.output import Output
from moet_boot.exits import Exit
from moet_boot.planes.convert_request import Container, ConvertRequest, Fp4

app = typer.Typer(add_completion=False)

Source = Annotated[
    Path, typer.Argument(readable=False, help="A plane file, pack, store or planes cache.", metavar="SRC")
]
Out = Annotated[
    Path, typer.Option(readable=False, help="A file for moet2pf; the store's or cache's root folder otherwise.")
]

Checkpoint = Annotated[
    Path | None, typer.Option(readable=False, help="Gives identity, geometry, and FP4 parts that SRC lacks.")
]
ServedPath = Annotated[str | None, typer.Option(help="The model string exactly as the server gets it, e.g. /model.")]
Parts = Annotated[Fp4, typer.Option(help="FP4 parts: auto takes what SRC or checkpoint give; delta is a pool's pack.")]


@app.command()
def convert(
    source: Source,
    *,
    to: Annotated[Container, typer.Option(help="Format of the result.")],
    out: Out,
    checkpoint: Checkpoint = None,
    served_path: ServedPath = None,
    ckpt_id: Annotated[str | None, typer.Option(help="The identity itself, instead of computing it.")] = None,
    repo: Annotated[str | None, typer.Option(help="Written into a plane file's header.")] = None,
    revision: Annotated[str | None, typer.Option(help="The checkpoint's commit, for headers and v2 ids.")] = None,
    zero_mode: Annotated[str | None, typer.Option(help="auto, sign or alt; the source's, else auto.")] = None,
    fp4: Parts = Fp4.AUTO,
    tp: Annotated[int | None, typer.Option(min=1, help="Ranks that share the model; what SRC is for, else.")] = None,
    rank: Annotated[int, typer.Option(min=0, help="The rank whose part is written.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace what exists once the new one is whole.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document; progress as NDJSON on stderr.")] = False,
) -> int:
    """The same planes in another container, byte for byte, with the identity that a server expects.

    Reads and writes past the page cache, one slot in memory. Nothing gets its final name before it is whole.

      moet-boot planes convert ds4-planes.moet2pf --to cache-v1 --out /data/planescache
      --checkpoint DeepSeek-V4-Flash --served-path /model

      moet-boot planes convert /data/planescache --to pack-v1 --out /data/moet_store --fp4 delta

      moet-boot planes convert /data/moet_store --to cache-v2 --out /data/planescache --ckpt-id my-checkpoint

      moet-boot planes convert ds4-planes.moet2pf --to cache-v1 --out /data/planescache --tp 2 --rank 1
      --checkpoint DeepSeek-V4-Flash --served-path /model

    Ends with 0, 2 when it cannot be converted or would overwrite, 5 or 6 when the source is damaged or missing.
    """
    from moet_boot.cli.planes.convert_view import as_document, as_lines
    from moet_boot.cli.planes.progress import stages
    from moet_boot.planes.convert import convert_planes

    output = Output(json_mode=json)
    request = ConvertRequest(
        source,
        to,
        out,
        checkpoint,
        served_path,
        ckpt_id,
        revision,
        repo,
        zero_mode,
        fp4=fp4,
        force=force,
        tp=tp,
        rank=rank,
    )
    with stages(output) as stage:
        report = convert_planes(request, stage("slots"))
    output.document("planes-convert", as_document(report))
    if not json:
        output.raw("\n".join(as_lines(report)))
    return Exit.DONE

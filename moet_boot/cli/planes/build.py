"""`moet-boot planes build`."""

from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.output import Output
from moet_boot.exits import Exit
from moet_boot.planes.extra import planes_extra

app = typer.Typer(add_completion=False)


@app.command()
def build(
    *,
    checkpoint: Annotated[
        Path, typer.Option(readable=False, help="Folder of a DeepSeek-V4-Flash checkpoint (safetensors).")
    ],
    out: Annotated[Path, typer.Option(readable=False, help="The .moet2pf file to make.")],
    repo: Annotated[str, typer.Option(help="Written into the header: where the checkpoint is from.")],
    revision: Annotated[str, typer.Option(help="Written into the header: its commit, 40 hex digits.")],
    threads: Annotated[int | None, typer.Option(min=1, max=32, help="Default: 8 + 2 a CPU, at most 24.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file once the new one is whole.")
    ] = False,
    no_digest: Annotated[bool, typer.Option("--no-digest", help="No reading back: no proof, no sha256.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document; progress as NDJSON on stderr.")] = False,
) -> int:
    """Build a plane file from a checkpoint: the same bytes for the same input, whatever the threads.

    The file appears under its name only when it is whole. A build that was stopped goes on where it was
    when the same command is given again; what was written before is read and checked first.

      moet-boot planes build --checkpoint DeepSeek-V4-Flash --out ds4.moet2pf
      --repo deepseek-ai/DeepSeek-V4-Flash --revision 60d8d70770c6776ff598c94bb586a859a38244f1
    """
    with planes_extra("building planes"):
        from moet_boot.planes.build import build_planes
    from moet_boot.cli.planes.build_view import as_document, as_lines
    from moet_boot.cli.planes.progress import stages

    output = Output(json_mode=json)
    try:
        with stages(output) as stage:
            report = build_planes(
                checkpoint,
                out,
                repo=repo,
                revision=revision,
                threads=threads,
                overwrite=overwrite,
                whole_file=not no_digest,
                on_slots=stage("experts"),
                on_whole_file=stage("read back"),
            )
    except (KeyboardInterrupt, SystemExit) as ending:
        output.say("interrupted: the same command goes on from here")
        return Exit.INTERRUPTED if isinstance(ending, KeyboardInterrupt) else Exit.TERMINATED
    output.document("planes-build", as_document(report))
    if not json:
        output.raw("\n".join(as_lines(report)))
    return Exit.DONE

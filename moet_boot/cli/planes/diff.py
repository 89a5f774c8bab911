"""`moet-boot planes diff`."""

from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.output import Output
from moet_boot.exits import Exit

app = typer.Typer(add_completion=False)


@app.command()
def diff(
    a: Annotated[Path, typer.Argument(readable=False, help="A plane file, pack, store or planes cache.")],
    b: Annotated[Path, typer.Argument(readable=False, help="Another, in the same or another container.")],
    *,
    checkpoint: Annotated[
        Path | None, typer.Option(readable=False, help="Whose config.json gives the geometry.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document; progress as NDJSON on stderr.")] = False,
) -> int:
    """Do two artefacts hold the same planes, whatever their containers? Names every slot that differs.

    Identities are not compared, only layers and bytes. Reads past the page cache, changes nothing.

      moet-boot planes diff ds4-planes.moet2pf /data/planescache

      moet-boot planes diff /data/moet_store/base.rank0of1.pack /backup/moet_store --json

    Ends with 0 when they are the same, 5 when they differ or one is damaged, 6 when one is missing.
    """
    from moet_boot.cli.planes.diff_view import as_document, as_lines
    from moet_boot.cli.planes.progress import stages
    from moet_boot.planes.diff import diff_planes
    from moet_boot.planes.open_source import geometry_hint

    output = Output(json_mode=json)
    with stages(output) as stage:
        found = diff_planes(a, b, geometry_hint(checkpoint), stage("slots"))
    output.document("planes-diff", as_document(found))
    if not json:
        output.raw("\n".join(as_lines(found)))
    return Exit.DONE if found.same else Exit.ARTEFACT_DAMAGED

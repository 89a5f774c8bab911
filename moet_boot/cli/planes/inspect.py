"""`moet-boot planes inspect`."""

from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.output import Output
from moet_boot.exits import Exit

app = typer.Typer(add_completion=False)


@app.command()
def inspect(
    paths: Annotated[
        list[Path], typer.Argument(readable=False, help="Plane files, packs, stores, planes caches.", metavar="PATH...")
    ],
    *,
    checkpoint: Annotated[
        Path | None, typer.Option(readable=False, help="Whose config.json gives the geometry.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """What lies here: format, geometry, identity, layers, real size, holes. Reads no slot, changes nothing.

      moet-boot planes inspect ds4-planes.moet2pf

      moet-boot planes inspect /data/moet_store /data/planescache --json

    Ends with 0, with 5 when something is damaged, with 6 when it is missing.
    """
    from moet_boot.cli.planes.inspect_view import as_document, as_lines
    from moet_boot.planes.inspect import inspect_planes
    from moet_boot.planes.open_source import geometry_hint

    output = Output(json_mode=json)
    hint = geometry_hint(checkpoint)
    found = [description for path in paths for description in inspect_planes(path, hint)]
    output.document("planes-inspect", as_document(found))
    if not json:
        output.raw("\n".join(line for description in found for line in as_lines(description)))
    damaged = any(description.problems or description.hole_layers for description in found)
    return Exit.ARTEFACT_DAMAGED if damaged else Exit.DONE

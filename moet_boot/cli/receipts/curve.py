"""`moet-boot receipts curve`."""

from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.options import AsJson
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def curve(
    receipt: Annotated[str, typer.Argument(help="An id, the beginning of one, or `last`.")] = "last",
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The SVG to write; else beside the receipt.")] = None,
    attempt: Annotated[int, typer.Option(help="Which start of the server, 1 is the first; 0 is the last.")] = 0,
    boot: Annotated[bool, typer.Option("--boot", help="Only until the server was ready.")] = False,
    as_json: AsJson = False,
) -> int:
    """Draw the memory of a boot as SVG: MemAvailable over time, phases as bands, the guard's floors as lines.

    Examples:

      moet-boot receipts curve last -o boot.svg

      moet-boot receipts curve --boot
    """
    from moet_boot.errors import UsageError
    from moet_boot.receipts.curve import boot_part, draw_svg
    from moet_boot.receipts.store import ReceiptStore
    from moet_boot.supervise.afterwards import truthful

    output = Output(json_mode=as_json)
    store = ReceiptStore()
    folder = store.folder(store.find(receipt))
    found = truthful(store.read(receipt), folder)
    if not found.attempts:
        fix = "moet-boot receipts show says why; `receipts list` names those that started"
        raise UsageError(f"receipt {found.id} has no curve: no server was started", fix=fix)
    if not 0 <= attempt <= len(found.attempts):
        raise UsageError(f"receipt {found.id} has {len(found.attempts)} attempts, not attempt {attempt}")
    chosen = boot_part(found.attempts[attempt - 1]) if boot else found.attempts[attempt - 1]
    path = out or folder / "curve.svg"
    svg = draw_svg(f"{found.profile}: {found.id}", chosen.curve, chosen.phases, found.floors)
    try:
        path.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", fix="choose another file with --out") from error
    output.document("curve", {"path": str(path), "samples": len(chosen.curve), "receipt": found.id})
    output.data(str(path))
    return 0

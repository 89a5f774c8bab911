"""`moet-boot report`: one archive for a bug report."""

import os
from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.output import Output
from moet_boot.exits import Exit

app = typer.Typer(add_completion=False)


@app.command()
def report(
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The .tar.gz to write; never over another file.")
    ] = None,
    receipt: Annotated[
        str | None, typer.Option(help="The boot by its id, or the beginning of one; else the last.")
    ] = None,
    json_mode: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Pack what a bug report needs into one archive, without secrets and without a word on whose machine it is.

    Versions, this machine, the receipt of a boot, its server's log (beginning and end), what the guard did, the memory
    curve and the profile. Secrets, homes, user and host names, addresses and ids are replaced; look through it before
    you send it. Sends nothing by itself, and works also when nothing was ever booted.

    Examples:

      moet-boot report

      moet-boot report --receipt 20261129-1524 -o /tmp/report.tar.gz
    """
    from moet_boot.report.report import write_report
    from moet_boot.units import format_bytes

    output = Output(json_mode=json_mode)
    written = write_report(out, receipt, env=os.environ)
    contents = [{"name": e.name, "size_bytes": len(e.content), "what": e.what} for e in written.entries]
    notes = list(written.notes)
    about = {"path": str(written.path), "size_bytes": written.size_bytes, "receipt": written.receipt}
    output.document("report", {**about, "contents": contents, "notes": notes})
    if not json_mode:
        output.raw(f"{written.path}  {format_bytes(written.size_bytes)}")
        for entry in written.entries:
            output.raw(f"  {format_bytes(len(entry.content)):>10}  {entry.name:<24}  {entry.what}")
    for note in notes:
        output.say(f"not in it: {note}")
    output.say("look through it before you send it: tar -xzf, and read")
    return Exit.DONE

"""`moet-boot planes verify`."""

import secrets
from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.output import Output
from moet_boot.errors import UsageError
from moet_boot.exits import Exit
from moet_boot.planes.verify_report import VerifyMode

app = typer.Typer(add_completion=False)

Checkpoint = Annotated[
    Path | None, typer.Option(readable=False, help="Compare with this checkpoint's config.json and index.")
]
Revision = Annotated[str | None, typer.Option(help="The checkpoint revision that the file must be made from.")]
TrustStamp = Annotated[
    bool, typer.Option("--trust-stamp", help="Only a quick look at a file on record as good and unchanged.")
]


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(readable=False, help="A .moet2pf file.")],
    *,
    mode: Annotated[VerifyMode, typer.Option(help="A few slots, a seeded share of them, or all.")] = VerifyMode.QUICK,
    checkpoint: Checkpoint = None,
    rebuild: Annotated[int, typer.Option(min=0, help="Build so many slots from the checkpoint and compare.")] = 0,
    revision: Revision = None,
    whole_file: Annotated[bool, typer.Option("--whole-file", help="Also hash the whole file.")] = False,
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the slots in sample mode.")] = 0.05,
    seed: Annotated[int | None, typer.Option(help="Repeats a sample; drawn and printed when left out.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, max=64, help="Default: 8 + 2 a CPU, at most 24.")] = None,
    trust_stamp: TrustStamp = False,
    no_stamp: Annotated[bool, typer.Option("--no-stamp", help="Do not record a full verification.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document; progress as NDJSON on stderr.")] = False,
) -> int:
    """Is this plane file whole? Names every damaged slot; reads past the page cache; changes nothing.

    A full verification is put on record, so that a preflight need not repeat it while the file is unchanged.

      moet-boot planes verify ds4-planes.moet2pf                     header, table, size, holes, a few slots

      moet-boot planes verify ds4-planes.moet2pf --mode full --whole-file --json     every slot, and the digest

      moet-boot planes verify ds4-planes.moet2pf --mode full --trust-stamp       in a script before each boot

    Ends with 0 when good, 5 when damaged or of another revision, 6 when missing.
    """
    from moet_boot.cli.planes.progress import stages
    from moet_boot.cli.planes.verify_view import advice, as_document, as_lines
    from moet_boot.planes.checkpoint import read_identity
    from moet_boot.planes.verify_once import verify_once
    from moet_boot.planes.verify_report import VerifyOptions
    from moet_boot.planes.workers import default_threads

    if rebuild and checkpoint is None:
        raise UsageError("--rebuild needs --checkpoint", fix="name the checkpoint to build from")
    output = Output(json_mode=json)
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    origin = read_identity(checkpoint) if checkpoint else None
    options = VerifyOptions(mode, share, seed, threads or default_threads(), whole_file, origin, revision, rebuild)
    with stages(output) as stage:
        report = verify_once(
            file,
            options,
            force=not trust_stamp,
            record=not no_stamp,
            on_slots=stage("slots"),
            on_whole_file=stage("whole file"),
        )
    output.document("planes-verify", as_document(report))
    if not json:
        output.raw("\n".join(as_lines(report)))
        if not report.ok:
            output.say(f"  fix: {advice(report)}")
    return Exit.DONE if report.ok else Exit.ARTEFACT_DAMAGED

"""`moet-boot preflight`: is this machine ready for this boot, and if not, why."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet_boot.cli.options import (
    AcceptedRisks,
    AsJson,
    Engine,
    FailOnWarn,
    Paths,
    Profile,
    Runtime,
    Sets,
    SnapshotFile,
    Variant,
    Verify,
)
from moet_boot.cli.output import Output

if TYPE_CHECKING:
    from moet_boot.preflight import Request

app = typer.Typer(add_completion=False)


@app.command()
def preflight(  # noqa: PLR0917  (each is an option with a name)
    profile: Profile,
    variant: Variant = None,
    sets: Sets = None,
    snapshot: SnapshotFile = None,
    verify: Verify = "quick",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Without GPU, docker and artefacts (CI).")] = False,
    accept_risk: AcceptedRisks = None,
    path: Paths = None,
    runtime: Runtime = None,
    engine: Engine = None,
    junit: Annotated[Path | None, typer.Option(help="Also write a JUnit report to this file.")] = None,
    fail_on_warn: FailOnWarn = False,
    as_json: AsJson = False,
) -> int:
    """Judge whether a boot would be safe on this machine. Reads only, changes nothing.

    Exit codes: 2 usage, 3 refused, 4 warnings with --fail-on-warn, 5 artefact damaged, 6 artefact missing, else 0.

    Examples:

      moet-boot preflight --profile spark

      moet-boot preflight --profile rtx6000-b --variant mtp --set max-num-seqs=64

      moet-boot preflight --profile spark --snapshot machine.json --json

      moet-boot preflight --profile rtx6000-a --dry-run --junit report.xml    in CI, without a GPU

      moet-boot preflight --profile spark --accept-risk MEM.CONTIGUOUS
    """
    from moet_boot.preflight.request import read_request

    request = read_request(
        profile,
        variant=variant,
        sets=sets or (),
        snapshot=snapshot,
        verify=verify,
        dry_run=dry_run,
        accepted=accept_risk or (),
        paths=path or (),
        runtime=runtime,
        engine=engine,
    )
    return _answer(request, Output(json_mode=as_json), junit, fail_on_warn=fail_on_warn)


def _answer(request: "Request", output: Output, junit: Path | None, *, fail_on_warn: bool) -> int:
    from moet_boot.cli.preflight_view import verdict_view
    from moet_boot.preflight import prepare
    from moet_boot.preflight.document import preflight_document
    from moet_boot.preflight.junit import write_junit

    started = time.monotonic()
    prepared = prepare(request, env=os.environ)
    duration_s = time.monotonic() - started
    if junit is not None:
        write_junit(prepared.verdict, prepared.profile.name, duration_s, junit)
    output.document("preflight", preflight_document(prepared, duration_s))
    output.data(verdict_view(prepared))
    return int(prepared.verdict.exit_code(fail_on_warn=fail_on_warn))

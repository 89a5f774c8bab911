"""`moet-boot snapshot`: record this machine as a JSON document."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet_boot.cli.options import Paths, Variant
from moet_boot.cli.output import Output
from moet_boot.errors import UsageError

if TYPE_CHECKING:
    from moet_boot.machine.request import SnapshotRequest

app = typer.Typer(add_completion=False)


@app.command()
def snapshot(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write to this file instead of stdout.")] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Also record the artefacts, image and program of this profile.")
    ] = None,
    variant: Variant = None,
    path: Paths = None,
    json_mode: Annotated[bool, typer.Option("--json", help="Print the document on stdout, also with -o.")] = False,
) -> int:
    """Record this machine: memory, pressure, GPUs, containers, disks, ports. Reads only.

    No serial numbers, UUIDs, addresses, host or user names are recorded, and no secrets. What could not be
    read is listed with its reason under `errors`.

    Examples:

      moet-boot snapshot -o machine.json                      for a report, or to replay elsewhere

      moet-boot snapshot --profile spark -o machine.json      with the profile's artefacts

      moet-boot snapshot --profile spark --path checkpoint=/data/model -o machine.json

      moet-boot preflight --profile spark --snapshot machine.json
    """
    from moet_boot.machine.anonymous import anonymous
    from moet_boot.machine.record import record
    from moet_boot.machine.save import as_json, save_snapshot

    output = Output(json_mode=json_mode)
    recorded = anonymous(record(_request(profile, variant, path or [])))
    if out is None or json_mode:
        output.raw(as_json(recorded))
    if out is not None:
        save_snapshot(recorded, out)
        output.say(f"snapshot written to {out}")
    for name, why in recorded.errors.items():
        output.say(f"not read: {name}: {why}", style="dim")
    return 0


def _request(profile: str | None, variant: str | None, paths: list[str]) -> "SnapshotRequest | None":
    if profile is None:
        if variant is not None or paths:
            raise UsageError("--variant and --path belong to a profile", fix="add --profile NAME")
        return None
    from moet_boot.launch.plan import build_plan
    from moet_boot.machine.request import request_for
    from moet_boot.preflight.request import read_request
    from moet_boot.profile.resolve import resolve_profile

    asked = read_request(profile, variant=variant, paths=paths)
    resolved = resolve_profile(asked.profile, asked.variant, asked.sets, env=os.environ)
    return request_for(resolved, build_plan(resolved, paths=asked.paths))

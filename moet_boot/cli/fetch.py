"""`moet-boot fetch`: bring the artefacts of a profile to this machine."""

import os
from typing import Annotated

import typer

from moet_boot.cli.options import Profile, Variant
from moet_boot.cli.output import Output
from moet_boot.exits import Exit

app = typer.Typer(add_completion=False)


@app.command()
def fetch(  # noqa: PLR0917  (each is an option with a name)
    profile: Profile,
    folder: Annotated[str, typer.Option("--dir", help="Where to put them; each gets the profile's own name for it.")],
    variant: Variant = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this artefact; repeatable.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would come and whether it fits.")] = False,
    json_mode: Annotated[bool, typer.Option("--json", help="One JSON document; progress as NDJSON on stderr.")] = False,
) -> int:
    """Fetch checkpoint, planes and caches at their pinned revision, and compare every byte. Repairs what is damaged.

    What is here and right is not fetched again, and an interrupted fetch goes on where it was. A private or gated
    repository wants HF_TOKEN; HF_ENDPOINT names a mirror.

    Exit codes: 1 network, login or space, 5 what came is damaged or of another revision, 6 the hub does not have it,
    10 another fetch works in the folder.

    Examples:

      moet-boot fetch --profile spark --dir ~/models --dry-run

      moet-boot fetch --profile spark --dir ~/models            where the profile looks for them anyway

      moet-boot fetch --profile spark --dir /data --only plane_file
    """
    from moet_boot.cli.fetch_view import as_document, as_lines, next_command
    from moet_boot.cli.planes.progress import stages
    from moet_boot.fetch.extra import hub_extra
    from moet_boot.fetch.wanted import target_folder
    from moet_boot.profile.resolve import resolve_profile

    with hub_extra():
        from moet_boot.fetch.bring import Carrier
        from moet_boot.fetch.fetch import fetch_profile, plan_profile
        from moet_boot.fetch.hub import Hub

    output = Output(json_mode=json_mode)
    found = resolve_profile(profile, variant, env=os.environ)
    hub, place = Hub(os.environ.get("HF_ENDPOINT") or None), target_folder(folder)
    if output.live:
        output.say("asking the hub what there is ...", style="dim")
    try:
        if dry_run:
            plan, fetched = plan_profile(hub, found, place, only or ()), None
        else:
            with stages(output, "fetch-progress") as stage:
                carrier = Carrier(hub, on_fetch=stage("fetched"), on_compare=stage("compared"))
                plan, fetched = fetch_profile(carrier, found, place, only or ())
    except KeyboardInterrupt:
        output.say("interrupted: the same command goes on from here")
        return Exit.INTERRUPTED
    output.document("fetch", {"profile": found.name, "variant": variant, **as_document(plan, fetched)})
    if not json_mode:
        output.raw("\n".join(as_lines(plan, fetched)))
    if fetched is not None:
        output.say(f"next: {next_command(plan, profile, variant)}")
    return Exit.DONE if fetched is not None or plan.fits else Exit.FAILURE

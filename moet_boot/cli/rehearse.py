"""`moet-boot rehearse`: prove that the guard acts in time on this machine."""

from typing import Annotated

import typer

from moet_boot.cli.options import AsJson, Profile, Variant
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def rehearse(
    profile: Profile,
    variant: Variant = None,
    take_gib: Annotated[
        float | None, typer.Option(min=0.5, help="GiB that the child may take; at most half of what is available.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Let a child take memory at full speed and the real guard end it, inside a limit that keeps it harmless.

    Takes at most half of what is available, and never more than the profile's forecast minus its floor. The floor
    of the rehearsal is set far above the real one, everything else is the guard of a real boot. Ends with 1 if the
    guard did not act or, on unified memory, would not have held in the worst recorded fall (34.0 to 12.7 GiB in 1.5 s).

    Examples:

      moet-boot rehearse --profile spark

      moet-boot rehearse --profile demo --take-gib 2 --json
    """
    import tempfile
    from pathlib import Path

    from moet_boot.cli.rehearse_view import rehearsal_document, rehearsal_view
    from moet_boot.exits import Exit
    from moet_boot.forecast.boot import forecast
    from moet_boot.guard.floors import floors_of
    from moet_boot.guard.rehearse import rehearse as run
    from moet_boot.launch.plan import build_plan
    from moet_boot.profile.load import load_profile
    from moet_boot.units import from_gib

    output = Output(json_mode=as_json)
    wanted = load_profile(profile, variant)
    boot, floors = forecast(wanted, build_plan(wanted)), floors_of(wanted.guard)
    output.say("a child takes memory now, and the guard ends it")
    with tempfile.TemporaryDirectory(prefix="moet-boot-rehearsal-") as folder:
        result = run(
            floors,
            Path(folder),
            most=boot.host_required_bytes - floors.hard_floor,
            unified=boot.unified,
            asked=None if take_gib is None else from_gib(take_gib),
        )
    output.document("rehearse", rehearsal_document(result, profile))
    output.data(*rehearsal_view(result))
    return int(Exit.DONE if result.passed else Exit.FAILURE)

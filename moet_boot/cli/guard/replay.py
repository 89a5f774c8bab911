"""`moet-boot guard replay`: what the guard would have done, over recorded samples."""

from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.options import AsJson, Profile, Variant
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def replay(  # noqa: PLR0917  (each is an option with a name)
    profile: Profile,
    trace: Annotated[Path, typer.Option(help="A JSON list of samples, a document with boot_trace, or a spool.")],
    variant: Variant = None,
    hz: Annotated[float | None, typer.Option(min=0.1, max=1000, help="Replay at this rate, interpolating.")] = None,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="Hide the phases from the guard.")] = False,
    as_json: AsJson = False,
) -> int:
    """Replay recorded memory samples through the guard's policy; say what it would do, when and why.

    A kill outranks a relief, whichever came first; every decision is in the log. Relief is taken to be permitted.
    A sample: {"t_s": 9, "mem_available_gib": 10.6, "mem_free_gib": 1.4, "swap_used_gib": 0, "psi_full_avg10": 3}.
    Always ends with 0 when the trace could be read: the answer is the action.

    Examples:

      moet-boot guard replay --profile spark --trace collapse.json

      moet-boot guard replay --profile spark --trace collapse.json --hz 20 --no-labels --json
    """
    from moet_boot.cli.guard.view import replay_document, replay_table
    from moet_boot.guard.floors import floors_of
    from moet_boot.guard.replay import replay as run
    from moet_boot.guard.replay import resampled, without_labels
    from moet_boot.guard.trace import load_trace
    from moet_boot.profile.load import load_profile

    output = Output(json_mode=as_json)
    floors = floors_of(load_profile(profile, variant).guard)
    points = load_trace(trace)
    points = without_labels(points) if no_labels else points
    result = run(points if hz is None else resampled(points, hz), floors)
    output.document("guard-replay", replay_document(result, profile))
    output.data(*replay_table(result))
    return 0

"""`moet-boot profiles recommend`."""

from typing import Annotated

import typer

from moet_boot.cli.options import AsJson, SnapshotFile
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def recommend(
    streams: Annotated[int, typer.Option("--streams", metavar="N", help="Requests that are answered at once.")] = 1,
    context: Annotated[int, typer.Option("--context", metavar="N", help="Tokens of context of each.")] = 32768,
    snapshot: SnapshotFile = None,
    as_json: AsJson = False,
) -> int:
    """Pick a profile and variant from the published tables, and say what was interpolated.

    Without --snapshot the answer is for an RTX PRO 6000, the hardware with a whole table.

    Examples:

      moet-boot profiles recommend --streams 64

      moet-boot profiles recommend --streams 1 --context 262144 --snapshot machine.json
    """
    from moet_boot.cli.profiles.machine import machine_facts
    from moet_boot.cli.profiles.view import recommendation_document, recommendation_view
    from moet_boot.profile.recommend import published_profiles
    from moet_boot.profile.recommend import recommend as choose

    output = Output(json_mode=as_json)
    machine = machine_facts(snapshot) if snapshot else None
    found = choose(streams, context, published_profiles(), machine)
    output.document("profile-recommend", recommendation_document(found))
    output.data(*recommendation_view(found))
    for warning in found.warnings:
        output.warn(warning)
    return 0

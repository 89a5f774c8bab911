"""`moet-boot profiles diff`."""

import os
from dataclasses import asdict
from typing import Annotated

import typer

from moet_boot.cli.options import AsJson
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def diff(
    left: Annotated[str, typer.Argument(metavar="A", help="A profile, or NAME:VARIANT.")],
    right: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    as_json: AsJson = False,
) -> int:
    """Show what two profiles decide differently, and the reason of each.

    Examples:

      moet-boot profiles diff rtx6000-a rtx6000-b

      moet-boot profiles diff rtx6000-b rtx6000-b:mtp

      moet-boot profiles diff spark ./mine.toml
    """
    from moet_boot.cli.profiles.view import differences_table
    from moet_boot.profile.diff import diff_profiles
    from moet_boot.profile.resolve import resolve_profile, split_variant

    output = Output(json_mode=as_json)
    ours, theirs = (resolve_profile(*split_variant(name), env=os.environ) for name in (left, right))
    found = diff_profiles(ours, theirs)
    output.document("profile-diff", {"left": left, "right": right, "differences": [asdict(one) for one in found]})
    if found:
        output.data(differences_table(left, right, found))
    else:
        output.say(f"{left} and {right} decide everything alike")
    return 0

"""`moet-boot profiles check`."""

from dataclasses import asdict
from typing import Annotated

import typer

from moet_boot.cli.options import AsJson
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def check(
    profiles: Annotated[list[str], typer.Argument(metavar="PATH...", help="Profile files, or names of shipped ones.")],
    as_json: AsJson = False,
) -> int:
    """Check profiles without a machine: keys, values, every variant, and the rules between settings.

    Ends with 2 when a file is not valid (every problem is listed), with 3 when a rule refuses.

    Examples:

      moet-boot profiles check mine.toml

      moet-boot profiles check spark rtx6000-a rtx6000-b demo --json
    """
    from moet_boot.cli.profiles.view import checked_view
    from moet_boot.exits import Exit
    from moet_boot.profile.check import check_profile

    output = Output(json_mode=as_json)
    checked = [check_profile(profile) for profile in profiles]
    output.document("profile-check", {"profiles": [asdict(one) for one in checked]})
    for one in checked:
        output.data(*checked_view(one))
    if any(one.problems for one in checked):
        return Exit.USAGE
    return Exit.REFUSED if any(one.refused for one in checked) else Exit.DONE

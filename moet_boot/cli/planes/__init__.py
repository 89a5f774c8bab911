"""`moet-boot planes`: one file per command."""

import typer

from moet_boot.cli.lazy import lazy_group
from moet_boot.cli.planes.ending import ended_in_order

COMMANDS = {
    "inspect": "moet_boot.cli.planes.inspect",
    "verify": "moet_boot.cli.planes.verify",
    "build": "moet_boot.cli.planes.build",
    "convert": "moet_boot.cli.planes.convert",
    "diff": "moet_boot.cli.planes.diff",
    "skip-forecast": "moet_boot.cli.planes.skip_forecast",
}

app = typer.Typer(cls=lazy_group("PlanesCommands", COMMANDS), no_args_is_help=True, add_completion=False)


@app.callback()
def root(context: typer.Context) -> None:
    """Verify, inspect, build, convert and compare plane artefacts; forecast the loader skip.

    Is this file whole?

      moet-boot planes verify ds4-planes.moet2pf --mode full
    """
    context.with_resource(ended_in_order())

"""`moet-boot guard`: one file per command."""

import typer

from moet_boot.cli.lazy import lazy_group

COMMANDS = {
    "replay": "moet_boot.cli.guard.replay",
}

app = typer.Typer(cls=lazy_group("GuardCommands", COMMANDS), no_args_is_help=True, add_completion=False)


@app.callback()
def root() -> None:
    """Try the memory guard's policy on recorded samples.

    Example: moet-boot guard replay --profile spark --trace collapse.json
    """

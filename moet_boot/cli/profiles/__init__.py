"""`moet-boot profiles`: one file per command."""

import typer

from moet_boot.cli.lazy import lazy_group

COMMANDS = {
    "list": "moet_boot.cli.profiles.list",
    "show": "moet_boot.cli.profiles.show",
    "explain": "moet_boot.cli.profiles.explain",
    "diff": "moet_boot.cli.profiles.diff",
    "check": "moet_boot.cli.profiles.check",
    "schema": "moet_boot.cli.profiles.schema",
    "recommend": "moet_boot.cli.profiles.recommend",
}

app = typer.Typer(cls=lazy_group("ProfilesCommands", COMMANDS), no_args_is_help=True, add_completion=False)


@app.callback()
def root() -> None:
    """Configurations with their reasons: what is set, why, on whose word, and what was measured.

    Which one is for this machine, and why is this flag set?

      moet-boot profiles list

      moet-boot profiles explain rtx6000-a gpu-memory-utilization
    """

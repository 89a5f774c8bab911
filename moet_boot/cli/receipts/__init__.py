"""`moet-boot receipts`: one file per command."""

import typer

from moet_boot.cli.lazy import lazy_group

COMMANDS = {
    "list": "moet_boot.cli.receipts.list",
    "show": "moet_boot.cli.receipts.show",
    "curve": "moet_boot.cli.receipts.curve",
}

app = typer.Typer(cls=lazy_group("ReceiptsCommands", COMMANDS), no_args_is_help=True, add_completion=False)


@app.callback()
def root() -> None:
    """Past boots of this machine: what was asked, judged, measured, and how each ended.

    How did the last boot end, and why?

      moet-boot receipts show
    """

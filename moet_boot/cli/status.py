"""`moet-boot status`."""

from typing import Annotated

import typer

from moet_boot.cli.options import AsJson
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Keep showing it until Ctrl-C.")] = False,
    port: Annotated[int | None, typer.Option(help="Only the server on this port.")] = None,
    as_json: AsJson = False,
) -> int:
    """Show the running server: phase, memory now and its low-water mark, restarts.

    Exit code 0 when every server shown is ready, 7 when one is not, 1 when none runs: fit for a health check.

    Examples:

      moet-boot status

      moet-boot status --watch
    """
    from moet_boot.cli.status_view import status_row, status_view, watch_status
    from moet_boot.exits import Exit
    from moet_boot.supervise.status import all_status, nobody_runs

    output = Output(json_mode=as_json)
    if watch:
        return watch_status(output, port)
    running = [f.status for f in all_status() if f.alive and port in {None, f.status.port}]
    output.document("status", {"servers": [status_row(s) for s in running]})
    if not running:
        output.say(nobody_runs(port))
        return Exit.FAILURE
    output.data(status_view(running))
    return Exit.DONE if all(s.ready for s in running) else Exit.NOT_READY

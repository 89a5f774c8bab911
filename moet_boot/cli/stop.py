"""`moet-boot stop`."""

from typing import Annotated

import typer

from moet_boot.cli.options import AsJson
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def stop(
    port: Annotated[int | None, typer.Option(help="The port of the server; needed when several run.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the clean end.")] = 60.0,
    as_json: AsJson = False,
) -> int:
    """Stop the running server cleanly and wait until it is gone.

    Exit code 0 when it is gone or none ran, 1 when it did not end in time.

    Example: moet-boot stop
    """
    from moet_boot.supervise.stopping import stop_server

    output = Output(json_mode=as_json)
    stopped = stop_server(port, timeout)
    output.document("stop", {"stopped": stopped.words, "port": stopped.port, "seconds": stopped.seconds})
    output.data(stopped.words)
    return 0

"""`moet-boot serve`."""

from typing import Annotated

import typer

from moet_boot.cli.options import (
    AcceptedRisks,
    AsEvents,
    Engine,
    FailOnWarn,
    Paths,
    Profile,
    Runtime,
    Sets,
    SnapshotFile,
    Variant,
    Verify,
)
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the exact plan; start nothing.")]
StopWhenReady = Annotated[
    bool, typer.Option("--stop-when-ready", help="Boot, ask one question, stop: proves the whole path.")
]
ObserveOnly = Annotated[bool, typer.Option("--observe-only", help="The guard notes what it would do and does nothing.")]
Grace = Annotated[float, typer.Option(help="Seconds between TERM and KILL when the server is stopped.")]
Retry = Annotated[bool, typer.Option("--retry", help="The cause of the last failures is mended: boot again.")]
EndpointsPort = Annotated[
    int | None, typer.Option(help="Serve /livez /readyz /startupz /metrics on this loopback port; 0 for any.")
]
Pull = Annotated[bool, typer.Option("--pull", help="Fetch the container's image if it is not here.")]


@app.command(context_settings={"allow_extra_args": True})
def serve(  # noqa: PLR0917  (options of a command line are named by their users)
    context: typer.Context,
    profile: Profile,
    variant: Variant = None,
    sets: Sets = None,
    runtime: Runtime = None,
    paths: Paths = None,
    engine: Engine = None,
    verify: Verify = "quick",
    snapshot: SnapshotFile = None,
    accept: AcceptedRisks = None,
    dry_run: DryRun = False,
    stop_when_ready: StopWhenReady = False,
    observe_only: ObserveOnly = False,
    grace: Grace = 20.0,
    retry: Retry = False,
    fail_on_warn: FailOnWarn = False,
    endpoints_port: EndpointsPort = None,
    pull: Pull = False,
    as_json: AsEvents = False,
) -> int:
    """Preflight, launch, supervise: the guarded boot.

    Arguments after `--` go to the server; those that moet-boot knows are judged as with --set. Ends with the server:
    0 for a wanted end, 3, 5 or 6 for a refusal, 7 not ready, 8 stopped by the memory guard, 10 port taken, 11 died
    after it was ready, 130 and 143 for a signal. A second signal ends the grace of a stop. As process 1 it collects
    orphans.

    Examples:

      moet-boot serve --profile spark

      moet-boot serve --profile rtx6000-b --set max-num-seqs=128 --path checkpoint=/data/DeepSeek-V4-Flash

      moet-boot serve --profile spark --dry-run

      moet-boot serve --profile demo --stop-when-ready -- --seed 7
    """
    from moet_boot.supervise.pid_one import init_apart
    from moet_boot.supervise.signals import leave_on_signals

    # before anything else is imported: some libraries start threads, and process 1 stays small
    ended = init_apart()
    if ended is not None:
        return ended
    leave_on_signals()
    from moet_boot.cli.serve_view import ServeView, show_plan
    from moet_boot.places import use_writable_temp
    from moet_boot.preflight.request import read_request
    from moet_boot.supervise.serve import ServeOptions
    from moet_boot.supervise.timing import Timing

    output = Output(json_mode=as_json)
    request = read_request(
        profile,
        variant=variant,
        sets=sets or (),
        snapshot=snapshot,
        verify=verify,
        dry_run=dry_run,
        accepted=accept or (),
        paths=paths or (),
        runtime=runtime,
        engine=engine,
        extra=context.args,
    )
    if dry_run or snapshot is not None:
        return show_plan(request, output, fail_on_warn=fail_on_warn)
    use_writable_temp()
    options = ServeOptions(
        stop_when_ready=stop_when_ready,
        observe_only=observe_only,
        fail_on_warn=fail_on_warn,
        retry=retry,
        endpoints_port=endpoints_port,
        pull=pull,
        timing=Timing(grace_s=max(grace, 0.0)),
    )
    return ServeView(output).serve(request, options)

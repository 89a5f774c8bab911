"""`moet-boot entrypoint`."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from moet_boot.cli.options import AsEvents
from moet_boot.cli.output import Output

if TYPE_CHECKING:
    from moet_boot.supervise.inside import Inside

app = typer.Typer(add_completion=False)


TO_THE_SERVER = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


@app.command(context_settings=TO_THE_SERVER)
def entrypoint(
    context: typer.Context,
    health: Annotated[bool, typer.Option("--health", help="Only ask whether the server is ready; 0 or 1.")] = False,
    as_json: AsEvents = False,
) -> int:
    """Preflight inside a container, then supervise the image's own entrypoint, or become it.

    All settings come from the environment: MOET_BOOT_PROFILE (needed), MOET_BOOT_VARIANT, MOET_BOOT_SET (KEY=VALUE,
    separated by commas or lines; path.ARTEFACT=PATH too), MOET_BOOT_ACCEPT_RISK, MOET_BOOT_VERIFY (quick, sample,
    full, none), MOET_BOOT_MODE (supervise, exec), MOET_BOOT_OBSERVE_ONLY, MOET_BOOT_FAIL_ON_WARN,
    MOET_BOOT_ENDPOINTS_PORT, MOET_BOOT_STOP_GRACE (7 s; `docker stop` kills after 10), MOET_BOOT_BASE_ENTRYPOINT and
    MOET_BOOT_BASE_CMD (JSON lists; scripts/build_image records them). Arguments go to the server.
    As process 1 it collects orphans and passes signals on. Exit codes are those of `serve`.

    Examples:

      docker run -e MOET_BOOT_PROFILE=spark --gpus all --network host --ipc host ... IMAGE

      docker run -e MOET_BOOT_PROFILE=rtx6000-b -e MOET_BOOT_SET=max-num-seqs=128 ... IMAGE --seed 7

      docker exec CONTAINER moet-boot entrypoint --health
    """
    from moet_boot.supervise.pid_one import init_apart, let_signals_through
    from moet_boot.supervise.signals import leave_on_signals

    # before anything else is imported: some libraries start threads, and process 1 stays small
    if not health:
        ended = init_apart() if os.environ.get("MOET_BOOT_MODE") != "exec" else None
        if ended is not None:
            return ended
        leave_on_signals()
        let_signals_through()
    from moet_boot.supervise.inside import read_inside

    inside, output = read_inside(os.environ, context.args), Output(json_mode=as_json)
    return _ask(inside, output) if health else _boot(inside, output)


def _ask(inside: "Inside", output: Output) -> int:
    from moet_boot.supervise.health import why_unhealthy

    reason = why_unhealthy(inside, os.environ)
    output.say(reason or "ready")
    return int(bool(reason))


def _boot(inside: "Inside", output: Output) -> int:
    from moet_boot.cli.serve_view import ServeView
    from moet_boot.places import use_writable_temp
    from moet_boot.supervise.become import become_server
    from moet_boot.supervise.inside import Mode

    use_writable_temp()
    view = ServeView(output)
    if inside.mode is Mode.EXEC:
        return become_server(inside.request, view.judged, env=os.environ, fail_on_warn=inside.options.fail_on_warn)
    return view.serve(inside.request, inside.options)

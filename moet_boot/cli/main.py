"""The command line: which commands there are, and the one boundary where errors become exit codes."""

import os
import sys
from typing import Annotated, NoReturn

import typer
from typer.exceptions import Abort, TyperException

from moet_boot import __version__
from moet_boot.cli.lazy import lazy_group
from moet_boot.cli.output import Output, deliver, ready_streams
from moet_boot.errors import MoetBootError
from moet_boot.exits import MEANING, Exit

COMMANDS = {
    "profiles": "moet_boot.cli.profiles",
    "snapshot": "moet_boot.cli.snapshot",
    "preflight": "moet_boot.cli.preflight",
    "serve": "moet_boot.cli.serve",
    "entrypoint": "moet_boot.cli.entrypoint",
    "status": "moet_boot.cli.status",
    "stop": "moet_boot.cli.stop",
    "planes": "moet_boot.cli.planes",
    "fetch": "moet_boot.cli.fetch",
    "guard": "moet_boot.cli.guard",
    "rehearse": "moet_boot.cli.rehearse",
    "receipts": "moet_boot.cli.receipts",
    "report": "moet_boot.cli.report",
}

EPILOG = "Exit codes: " + " | ".join(f"{code.value} {words}" for code, words in MEANING.items())

app = typer.Typer(
    cls=lazy_group("Commands", COMMANDS),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
)


def _version(asked: bool) -> None:
    if asked:
        Output().raw(f"moet-boot {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Safe, explainable boots of vLLM-Moet on one small machine.

    Is this machine ready, and if not, why?

      moet-boot preflight --profile spark

    Preflight, launch, supervise:

      moet-boot serve --profile spark

    The verdict in CI, without a GPU:

      moet-boot preflight --profile spark --dry-run
    """
    del version


def main(argv: list[str] | None = None) -> NoReturn:
    """Run one command and end the process with its exit code."""
    ready_streams()
    words = sys.argv[1:] if argv is None else argv
    code = run(words)
    try:
        deliver()
    except MoetBootError as failure:
        if code == Exit.DONE:
            Output().error(failure.what, failure.fix, failure.code)
        code = code or int(failure.code)
    except BrokenPipeError:
        # the reader of our output went away (`| head`): nothing is left to tell it
        code = code or int(Exit.FAILURE)
    sys.exit(code)


def run(argv: list[str]) -> int:
    """Run one command and return its exit code; every known failure ends as one line on stderr."""
    output = Output(json_mode="--json" in argv)
    _warn_of_slips(argv, output)
    try:
        result = app(args=argv, prog_name="moet-boot", standalone_mode=False)
    except MoetBootError as failure:
        output.error(failure.what, failure.fix, failure.code)
        return int(failure.code)
    except TyperException as failure:
        output.error(failure.format_message(), "see `moet-boot --help`", Exit.USAGE)
        return int(Exit.USAGE)
    except (KeyboardInterrupt, Abort):
        output.say("interrupted")
        return int(Exit.INTERRUPTED)
    except SystemExit as ending:
        # a signal before anything ran, see supervise/signals.py
        if ending.code in {Exit.INTERRUPTED, Exit.TERMINATED}:
            output.say("interrupted")
        raise
    except BrokenPipeError:
        return int(Exit.FAILURE)
    except Exception as bug:  # noqa: BLE001  (the one place that may catch everything)
        return _report_bug(bug, argv, output)
    return int(result or 0)


def _warn_of_slips(argv: list[str], output: Output) -> None:
    """Tell about variables that look mistyped; `entrypoint`, which lives on them, refuses them."""
    if argv[:1] == ["entrypoint"] or not any(name.startswith("MOET_BOOT_") for name in os.environ):
        return
    from moet_boot.supervise.variables import slips

    for slip in slips(os.environ):
        output.warn(f"{slip.name} means nothing to moet-boot; did you mean {slip.meant}?")


def _report_bug(bug: Exception, argv: list[str], output: Output) -> int:
    from moet_boot.cli.bug import write_bug_log

    try:
        fix = f"please report it with the log {write_bug_log(bug, argv)}"
    except OSError:
        fix = "its log cannot be written here: set TMPDIR to a folder that can be, do it again, and report it"
    output.error(f"bug in moet-boot: {type(bug).__name__}: {bug}", fix, Exit.BUG)
    return int(Exit.BUG)

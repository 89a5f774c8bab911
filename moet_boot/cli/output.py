"""The only place that writes to the terminal: data on stdout, talk on stderr, JSON when asked."""

import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, RenderableType

from moet_boot.errors import MoetBootError

PIPE_WIDTH = 100


def ready_streams() -> None:
    """Make this process's stdout and stderr take whatever is said.

    A stream that the caller closed (`>&-`) leads nowhere, and a character that the encoding lacks becomes `?`.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  (open to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
            # the old object lives on as sys.__stdout__, so the buffer that both share stays open
            sys.stdout = _Stdout(stream) if stream is sys.__stdout__ else sys.stdout


@contextmanager
def _delivering() -> Iterator[None]:
    """Raises MoetBootError for a result that cannot be written; a reader that went away stays BrokenPipeError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as failure:
        what = f"the result could not be written: {failure.strerror}"
        raise MoetBootError(what, fix="make room, or send stdout elsewhere") from None


def deliver() -> None:
    """Send what stdout still holds. Raises MoetBootError, or BrokenPipeError when its reader went away.

    What cannot be sent is given up, so that the end of the process does not stumble over it.
    """
    try:
        with _delivering():
            sys.stdout.flush()
    except (MoetBootError, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


class _Stdout(io.TextIOWrapper):
    """A stdout whose trouble is a known failure, whoever writes: a help text does not pass through Output."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        super().__init__(
            stream.buffer,
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )

    def write(self, text: str, /) -> int:
        with _delivering():
            return super().write(text)

    def flush(self) -> None:
        with _delivering():
            super().flush()


class _Talk(Console):
    """Talk that cannot be written is lost: a full disk or a closed terminal is no reason to stop a server."""

    def print(self, *objects: Any, **options: Any) -> None:
        with suppress(OSError):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        self.quiet = True


def _console(stream: TextIO, kind: type[Console] = Console) -> Console:
    """A console for one stream; NO_COLOR wins over FORCE_COLOR, both over what the stream is."""
    no_color = bool(os.environ.get("NO_COLOR"))
    is_terminal = stream.isatty()
    force = True if os.environ.get("FORCE_COLOR") and not no_color else None
    return kind(
        file=stream,
        force_terminal=force or is_terminal,
        no_color=no_color or None,
        width=None if is_terminal else PIPE_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


class Output:
    """Where a command puts its results and its talk.

    `json` mode: `document` prints the one result on stdout, `event` prints NDJSON, `data` prints nothing.
    Human mode: `data` prints on stdout; `document` and `event` print nothing. Talk always goes to stderr.
    """

    def __init__(self, *, json_mode: bool = False, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.json_mode = json_mode
        self._stdout = stdout or sys.stdout
        self._stderr = stderr or sys.stderr
        self.console = _console(self._stdout)
        self.talk = _console(self._stderr, _Talk)

    @property
    def live(self) -> bool:
        """Whether bars and other moving output make sense (a person watches stderr)."""
        return not self.json_mode and self.talk.is_terminal

    def document(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Print the one JSON document of a command, `schema` first; nothing in human mode."""
        if self.json_mode:
            body = {"schema": f"moet-boot/{kind}/v1", **payload}
            self._write(json.dumps(body, indent=2))

    def event(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Print one line of NDJSON on stderr (stdout stays one document); nothing in human mode."""
        if self.json_mode:
            line = json.dumps({"schema": f"moet-boot/{kind}/v1", **payload})
            with suppress(OSError):
                print(line, file=self._stderr, flush=True)

    def data(self, *renderables: RenderableType) -> None:
        """Print the result for people on stdout; nothing in JSON mode."""
        if not self.json_mode:
            with _delivering():
                for renderable in renderables:
                    self.console.print(renderable)

    def raw(self, text: str) -> None:
        """Print text on stdout as it is, whatever the mode (schemas, manifests)."""
        self._write(text.rstrip("\n"))

    def say(self, text: str, style: str | None = None) -> None:
        """Print one line of talk on stderr; never wrapped, so that a grep finds it whole."""
        self.talk.print(text, style=style, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning on stderr, in JSON mode as NDJSON."""
        self.event("warning", {"warning": text})
        if not self.json_mode:
            self.say(f"warning: {text}", style="yellow")

    def error(self, what: str, fix: str, code: int) -> None:
        """Print a known failure: what on one line, what to do on the next."""
        self.say(f"error: {what}", style="bold red")
        if fix:
            self.say(f"  fix: {fix}")
        with suppress(MoetBootError):
            self.document("error", {"error": what, "fix": fix, "exit_code": code})

    def _write(self, text: str) -> None:
        with _delivering():
            print(text, file=self._stdout, flush=True)

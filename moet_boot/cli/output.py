"""The only place that writes to the terminal: data on stdout, talk on stderr, JSON when asked."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console, RenderableType

PIPE_WIDTH = 100


def _console(stream: TextIO) -> Console:
    """A console for one stream; NO_COLOR wins over FORCE_COLOR, both over what the stream is."""
    no_color = bool(os.environ.get("NO_COLOR"))
    is_terminal = stream.isatty()
    force = True if os.environ.get("FORCE_COLOR") and not no_color else None
    return Console(
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
        self.talk = _console(self._stderr)

    @property
    def live(self) -> bool:
        """Whether bars and other moving output make sense (a person watches stderr)."""
        return not self.json_mode and self.talk.is_terminal

    def document(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Print the one JSON document of a command, `schema` first; nothing in human mode."""
        if self.json_mode:
            body = {"schema": f"moet-boot/{kind}/v1", **payload}
            self._write(json.dumps(body, ensure_ascii=False, indent=2))

    def event(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Print one line of NDJSON on stderr (stdout stays one document); nothing in human mode."""
        if self.json_mode:
            line = json.dumps({"schema": f"moet-boot/{kind}/v1", **payload}, ensure_ascii=False)
            print(line, file=self._stderr, flush=True)

    def data(self, *renderables: RenderableType) -> None:
        """Print the result for people on stdout; nothing in JSON mode."""
        if not self.json_mode:
            for renderable in renderables:
                self.console.print(renderable)

    def raw(self, text: str) -> None:
        """Print text on stdout as it is, whatever the mode (schemas, manifests)."""
        self._write(text.rstrip("\n"))

    def say(self, text: str, style: str | None = None) -> None:
        """Print one line of talk on stderr; never wrapped, so that a grep finds it whole."""
        self.talk.print(text, style=style, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning on stderr."""
        self.say(f"warning: {text}", style="yellow")

    def error(self, what: str, fix: str, code: int) -> None:
        """Print a known failure: what on one line, what to do on the next."""
        self.say(f"error: {what}", style="bold red")
        if fix:
            self.say(f"  fix: {fix}")
        self.document("error", {"error": what, "fix": fix, "exit_code": code})

    def _write(self, text: str) -> None:
        print(text, file=self._stdout, flush=True)

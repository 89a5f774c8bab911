"""Command groups that import a command's module only when it is called."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar, cast

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort


@contextmanager
def _told() -> Iterator[None]:
    """Ctrl-C leaves as Abort: typer turns a KeyboardInterrupt into a mere code, and nobody could say a word."""
    try:
        yield
    except KeyboardInterrupt:
        raise Abort from None


class LazyGroup(TyperGroup):
    """A group whose commands are names of modules.

    A module listed in `modules` has `app`, a `typer.Typer` with one command or with commands of its own.
    """

    modules: ClassVar[dict[str, str]] = {}

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with _told():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _told():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(self.modules)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        del ctx
        module = self.modules.get(cmd_name)
        if module is None:
            return None
        app = cast("typer.Typer", import_module(module).app)
        command = typer.main.get_command(app)
        command.name = cmd_name
        return command


def lazy_group(name: str, commands: dict[str, str]) -> type[LazyGroup]:
    """A group class over `{command name: module}`."""
    return type(name, (LazyGroup,), {"modules": commands})

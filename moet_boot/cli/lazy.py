"""Command groups that import a command's module only when it is called."""

from importlib import import_module
from typing import Any, ClassVar, cast

import typer
from typer.core import TyperGroup


class LazyGroup(TyperGroup):
    """A group whose commands are names of modules.

    A module listed in `modules` has `app`, a `typer.Typer` with one command or with commands of its own.
    """

    modules: ClassVar[dict[str, str]] = {}

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

"""Exec mode: after the preflight moet-boot becomes the server, and nothing of it is left."""

import os
from collections.abc import Callable, Mapping

from moet_boot.errors import MoetBootError
from moet_boot.exits import Exit
from moet_boot.launch.command import find_program
from moet_boot.preflight import Prepared, Request, prepare

Execute = Callable[[str, tuple[str, ...], dict[str, str]], object]


def become_server(
    request: Request,
    judged: Callable[[Prepared], None],
    *,
    env: Mapping[str, str],
    fail_on_warn: bool = False,
    execute: Execute = os.execve,
) -> Exit:
    """Judge the machine, tell `judged`, and run the plan's program in this process's place.

    Returns only with the exit code of a refusal. Raises MoetBootError subclasses when the program cannot be run.
    """
    prepared = prepare(request, env=env)
    judged(prepared)
    refused = prepared.verdict.exit_code(fail_on_warn=fail_on_warn)
    if refused is not Exit.DONE:
        return refused
    plan = prepared.plan
    server_env = {**env, **plan.env}
    program = find_program(plan.argv, server_env)
    try:
        execute(program, plan.argv, server_env)
    except OSError as error:
        raise MoetBootError(
            f"cannot run {program}: {error.strerror}", fix="is the image built for this machine's architecture?"
        ) from error
    return Exit.DONE

"""Readings that may hang (a network disk, a wedged driver, a stopped daemon), each with a deadline."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TypeVar

from moet_boot.machine.tree import UnreadError

T = TypeVar("T")
PACKAGE_PARENT = Path(__file__).parents[2]
GRACE_S = 0.5


def start_reading(read: Callable[[], T]) -> Future[T]:
    """Begin a reading in a daemon thread: unlike an executor's, it does not keep the process from ending."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(read())
        except BaseException as failure:  # noqa: BLE001  (raised again where the result is asked for)
            future.set_exception(failure)

    threading.Thread(target=run, daemon=True, name="moet-boot-reader").start()
    return future


def result_by(future: Future[T], wait_s: float, deadline_s: float) -> T:
    """The result of a reading, waiting `wait_s` at most.

    Raises whatever the reading raised, and UnreadError naming `deadline_s` when it is not done.
    """
    if not wait([future], timeout=max(wait_s, 0.0)).done:
        raise UnreadError(f"no answer in {deadline_s:g} s")
    return future.result()


def output_of_module(module: str, deadline_s: float, environment: Mapping[str, str] | None = None) -> str:
    """Run `python -m MODULE` and return what it printed.

    A process of its own can be left behind when a driver call never returns; a thread in such a call would
    keep this process from ending. Raises UnreadError when it does not answer in time or fails.
    """
    env = dict(os.environ if environment is None else environment)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PACKAGE_PARENT), env.get("PYTHONPATH"))))
    command = [sys.executable, "-m", module]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        output, complaint = process.communicate(timeout=deadline_s)
    except subprocess.TimeoutExpired:
        _abandon(process)
        raise UnreadError(f"no answer in {deadline_s:g} s") from None
    if process.returncode:
        last = (complaint.strip().splitlines() or ["without a word"])[-1]
        raise UnreadError(f"its reader ended with {process.returncode}: {last}")
    return output


def _abandon(process: subprocess.Popen[str]) -> None:
    process.kill()
    try:
        process.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        # stuck inside the kernel: init collects it when the call returns
        process.returncode = -9

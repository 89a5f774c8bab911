"""Follows a container's log into a file, across restarts of the engine, in a thread of its own."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from moet_boot.errors import MoetBootError
from moet_boot.launch.docker_engine import DockerEngine, EngineSilentError
from moet_boot.launch.log_cursor import LogCursor

AGAIN_S = 0.25
"""Between two attempts to read on."""
JOIN_S = 2.0


class LogStream(Protocol):
    """Frames of a log until it ends; `close` may be called by another thread."""

    def __iter__(self) -> Iterator[bytes]:
        """The frames."""

    def close(self) -> None:
        """End the iteration."""


class EngineLog:
    """A container's log over a connection of its own, which ends with it."""

    def __init__(self, engine: DockerEngine, container: str, since: float | None) -> None:
        """Raises MoetBootError when the engine does not give the log."""
        self._engine = engine
        try:
            self._stream: LogStream = engine.logs(container, since)
        except BaseException:
            engine.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._stream
        finally:
            self._engine.close()

    def close(self) -> None:
        """End the iteration."""
        self._stream.close()


class LogFollower:
    """Copies every frame once to `descriptor`, until the container is over and all of its log is there.

    `open_log` gives the log from a moment on (None: all of it), or raises MoetBootError while the engine is away.
    A progress bar that only returns the carriage comes when its line ends: the engine keeps whole lines.
    """

    def __init__(self, open_log: Callable[[float | None], LogStream], descriptor: int) -> None:
        self.trouble = ""
        """Why lines are missing in the file, if some are."""
        self.away_at: float | None = None
        """When the engine was last found to be away, in seconds of the monotonic clock."""
        self._open_log = open_log
        self._descriptor = descriptor
        self._cursor = LogCursor()
        self._stream: LogStream | None = None
        self._container_over = threading.Event()
        self._stopped = threading.Event()
        self._drained = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="moet-boot-log", daemon=True)

    def start(self) -> None:
        """Begin to follow; once. The file is kept open from here on, whoever closes `descriptor`."""
        self._descriptor = os.dup(self._descriptor)
        self._thread.start()

    def container_ended(self) -> None:
        """Tell that no new line will come: what is read to its end from now on is complete."""
        self._container_over.set()

    @property
    def drained(self) -> bool:
        """Whether everything that the container ever printed is in the file."""
        return self._drained.is_set()

    def close(self) -> None:
        """Stop reading, complete or not. A reader that hangs in the engine is left behind and writes no more."""
        self._stopped.set()
        stream = self._stream
        if stream is not None:
            with contextlib.suppress(Exception):
                stream.close()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    def _follow(self) -> None:
        try:
            while not self._stopped.is_set():
                was_over = self._container_over.is_set()
                if self._read_once() and was_over:
                    self._drained.set()
                    return
                self._stopped.wait(AGAIN_S)
        finally:
            os.close(self._descriptor)

    def _read_once(self) -> bool:
        """Read one stream to its end; False when the engine could not give it whole."""
        try:
            self._stream = stream = self._open_log(self._cursor.since)
            self._cursor.reconnect()
            for frame in stream:
                if self._stopped.is_set():
                    return False
                self._write(self._cursor.take(frame))
        except EngineSilentError:
            self.away_at = time.monotonic()
            return False
        except MoetBootError:
            return False
        except Exception:  # noqa: BLE001  (whatever a broken connection makes the SDK raise: it is read again)
            return False
        return True

    def _write(self, content: bytes) -> None:
        try:
            while content:
                content = content[os.write(self._descriptor, content) :]
        except OSError as error:
            self.trouble = f"lines of the log are lost: {error.strerror}"

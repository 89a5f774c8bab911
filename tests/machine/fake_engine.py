"""A container engine that answers on a Unix socket, for the real Docker SDK."""

import json
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

VERSION = {"Version": "28.5.1", "ApiVersion": "1.47", "MinAPIVersion": "1.24", "Components": [{"Name": "Engine"}]}


class Handler(BaseHTTPRequestHandler):
    """Answers GET from the server's table; a path that is not in it does not exist."""

    server: "Engine"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        path = "/" + path.split("/", 2)[2] if path.startswith("/v1.") else path
        self.server.asked.append(path)
        answer = self.server.answers.get(path)
        body = json.dumps({"message": f"No such image: {path}"} if answer is None else answer).encode()
        self.send_response(404 if answer is None else self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the name that the base class has)
        """Say nothing."""


class Engine(socketserver.ThreadingUnixStreamServer):
    """The table of answers, and what was asked for."""

    daemon_threads = True

    def __init__(self, socket: Path, answers: Mapping[str, Any], status: int) -> None:
        super().__init__(str(socket), Handler)
        self.answers, self.status = answers, status
        self.asked: list[str] = []


@contextmanager
def engine(folder: Path, answers: Mapping[str, Any], status: int = 200) -> Iterator[Engine]:
    """An engine that listens at `folder`/docker.sock while the context lasts."""
    server = Engine(folder / "docker.sock", {"/version": VERSION, **answers}, status)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

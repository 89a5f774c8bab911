"""A container engine on a Unix socket that answers questions and remembers everything else it was asked."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

ANSWERS: dict[str, Any] = {
    "version": {"Version": "29.2.1", "ApiVersion": "1.44", "MinAPIVersion": "1.24"},
    "info": {"Runtimes": {"runc": {}, "nvidia": {}}, "CgroupDriver": "systemd", "SecurityOptions": []},
    "containers/json": [],
}


class _Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        path = self.path.split("?")[0].lstrip("/")
        name = path.partition("/")[2] if path.startswith("v1") else path
        self.asked.append(f"GET {name}")
        answer = ANSWERS.get(name)
        body = json.dumps(answer if answer is not None else {"message": "no such thing"}).encode()
        self.send_response(200 if answer is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        self.send_error(405)

    do_POST = do_PUT = do_DELETE = do_HEAD = _refuse  # noqa: N815  (names that the base class looks for)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name of the base class)
        """Say nothing."""

    def address_string(self) -> str:
        return "unix"


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@contextmanager
def silent_docker(socket: Path) -> Iterator[list[str]]:
    """Serve at `socket`; yields the requests as they come in."""
    asked: list[str] = []
    handler = type("Handler", (_Handler,), {"asked": asked})
    with _Server(str(socket), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield asked
        server.shutdown()

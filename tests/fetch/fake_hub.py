"""A hub of one's own: listing, branches, files with ranges, and every way to go wrong that is asked for."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "60d8d70770c6776ff598c94bb586a859a38244f1"
TOKEN = "hf_SecretOfTheTests0123456789"
_TREE = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)")
_BRANCH = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/revision/(?P<revision>[^/]+)")
_FILE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


@dataclass(frozen=True)
class Request:
    """What the hub was asked: `start` is where a range began, None without one."""

    path: str
    start: int | None = None
    authorization: str | None = None


@dataclass
class FakeHub:
    """Repositories by name, each a dictionary of files; small files are Git's, `large` names are LFS's.

    `fault(request)` may return what happens to a request for a file instead of the right answer.
    """

    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    large: Callable[[str], bool] = lambda path: path.endswith((".safetensors", ".moet2pf", ".bin"))
    commit: str = COMMIT
    ranges: bool = True
    token: str | None = None
    listing: object = None
    """What is listed instead of the truth."""
    elsewhere: str = ""
    """The address that files are redirected to, as a hub's storage."""
    fault: Callable[[Request], "Fault | None"] = lambda _request: None
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    def file_requests(self, name: str = "") -> list[Request]:
        """Requests for files, of one name if that is given."""
        return [asked for asked in self.requests if "/resolve/" in asked.path and asked.path.endswith(name)]


@dataclass(frozen=True)
class Fault:
    """What happens instead of the right answer."""

    status: int = 0
    code: str = ""
    cut_after: int | None = None
    hold: threading.Event | None = None
    """Nothing more is sent, and the line stays open, until this is set."""
    change: Callable[[bytes], bytes] = bytes
    """Other content of the file."""
    headers: dict[str, str] = field(default_factory=dict)


def listed(path: str, content: bytes, *, large: bool) -> dict[str, object]:
    """A file as the hub's tree shows it."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    entry: dict[str, object] = {"type": "file", "oid": blob, "size": len(content), "path": path}
    if large:
        sha256 = hashlib.sha256(content).hexdigest()
        entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 135}
    return entry


@contextmanager
def serving(hub: FakeHub) -> Iterator[FakeHub]:
    """Run a hub on a free port of this machine."""

    class Handler(_Handler):
        served = hub

    server = _Server(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    served: FakeHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer in two packets takes 40 ms

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
        pass

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        span = _RANGE.fullmatch(self.headers.get("Range", ""))
        asked = Request(path, int(span[1]) if span else None, self.headers.get("Authorization"))
        self.served.requests.append(asked)
        if self.served.token and asked.authorization != f"Bearer {self.served.token}" and not self.served.elsewhere:
            return self._refuse(401, "RepoNotFound" if asked.authorization is None else "")
        if match := _TREE.fullmatch(path) or _BRANCH.fullmatch(path):
            return self._api(match, tree="/tree/" in path)
        if match := _FILE.fullmatch(path):
            return self._file(match, asked, span)
        return self._refuse(404, "")

    def _api(self, match: re.Match[str], *, tree: bool) -> None:
        hub = self.served
        if match["repo"] not in hub.repos:
            return self._refuse(404, "RepoNotFound")
        if match["revision"] not in {hub.commit, "main"}:
            return self._refuse(404, "RevisionNotFound")
        tree_of = [listed(p, c, large=hub.large(p)) for p, c in hub.repos[match["repo"]].items()]
        said = tree_of if hub.listing is None else hub.listing
        answer = said if tree else {"id": match["repo"], "sha": hub.commit}
        return self._send(200, answer if isinstance(answer, bytes) else json.dumps(answer).encode(), {})

    def _file(self, match: re.Match[str], asked: Request, span: re.Match[str] | None) -> None:
        hub = self.served
        if hub.elsewhere:
            return self._send(302, b"", {"Location": hub.elsewhere + self.path})
        content = hub.repos.get(match["repo"], {}).get(match["path"])
        if content is None:
            return self._refuse(404, "EntryNotFound")
        fault = hub.fault(asked) or Fault()
        if fault.status:
            return self._refuse(fault.status, fault.code)
        content = fault.change(content)
        if span is None or not hub.ranges:
            return self._send(200, content, fault.headers, fault)
        start, stop = int(span[1]), min(int(span[2]) + 1, len(content))
        if start >= len(content):
            return self._refuse(416, "")
        headers = {"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}", **fault.headers}
        return self._send(206, content[start:stop], headers, fault)

    def _refuse(self, status: int, code: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": code} if code else {}
        self._send(status, b"{}", headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str], fault: Fault | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = fault.cut_after if fault else None
        self.wfile.write(body if cut is None else body[:cut])
        if fault and fault.hold:
            self.wfile.flush()
            fault.hold.wait(20)
        self.close_connection = cut is not None


def folder_of(root: Path) -> dict[str, bytes]:
    """The files of a local folder as a repository."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}

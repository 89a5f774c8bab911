"""The supervisor's own endpoints on loopback: /livez, /readyz, /startupz and /metrics (Prometheus)."""

import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from moet_boot import __version__
from moet_boot.errors import BusyError
from moet_boot.phases import Phase
from moet_boot.supervise.situation import Situation

LOOPBACK = "127.0.0.1"
Answer = tuple[HTTPStatus, str]


class Endpoints:
    """Serves the endpoints in a thread of its own until `close`."""

    def __init__(self, situation: Situation, port: int) -> None:
        """Listen on a loopback port; 0 picks a free one.

        Raises BusyError when the port is taken.
        """
        registry = CollectorRegistry()
        registry.register(SituationCollector(situation))
        handler = type("Handler", (_Handler,), {"situation": situation, "registry": registry})
        try:
            self._server = ThreadingHTTPServer((LOOPBACK, port), handler)
        except OSError as error:
            raise BusyError(
                f"the port {port} for the supervisor's endpoints is taken ({error.strerror})",
                fix="choose another with --endpoints-port, or 0 for any",
            ) from error
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="moet-boot-endpoints", daemon=True
        ).start()

    def close(self) -> None:
        """Stop listening; safe to call twice."""
        self._server.shutdown()
        self._server.server_close()


def live(_: Situation) -> Answer:
    """The supervisor lives: its answer is the proof."""
    return HTTPStatus.OK, "alive"


def started(situation: Situation) -> Answer:
    """The server was ready at least once since its last start."""
    return (HTTPStatus.OK, "started") if situation.ready else ready(situation)


def ready(situation: Situation) -> Answer:
    """The server generated a token and nothing has spoken against it since."""
    if situation.in_service:
        return HTTPStatus.OK, "ready"
    return HTTPStatus.SERVICE_UNAVAILABLE, situation.why_not_ready()


PATHS: dict[str, Callable[[Situation], Answer]] = {"/livez": live, "/readyz": ready, "/startupz": started}


class SituationCollector(Collector):
    """The situation as Prometheus metrics, read at the moment of the scrape."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation

    def collect(self) -> Iterable[Metric]:
        """All metrics."""
        now = self._situation
        info = {"version": __version__, "profile": now.profile, "variant": now.variant or ""}
        yield InfoMetricFamily("moet_boot", "moet-boot and the profile that it serves", value=info)
        yield GaugeMetricFamily("moet_boot_ready", "1 while it generates tokens", value=float(now.in_service))
        yield GaugeMetricFamily("moet_boot_restarts", "Restarts of the server", value=now.restarts)
        yield GaugeMetricFamily("moet_boot_guard_actions", "Actions of the memory guard", value=now.guard_actions)
        phase = GaugeMetricFamily("moet_boot_phase", "1 for the phase of the boot", labels=["phase"])
        for each in Phase:
            phase.add_metric([each.value], float(each is now.phase))
        yield phase
        yield from _optional(
            ("moet_boot_memory_available_bytes", "MemAvailable", now.available_bytes),
            ("moet_boot_memory_lowest_available_bytes", "Lowest MemAvailable of the boot", now.lowest_available_bytes),
            ("moet_boot_memory_floor_bytes", "MemAvailable below which the guard acts in this phase", now.floor_bytes),
            ("moet_boot_boot_seconds", "Seconds from start to readiness", now.boot_seconds),
        )


def _optional(*rows: tuple[str, str, float | None]) -> Iterable[Metric]:
    for name, words, value in rows:
        if value is not None:
            yield GaugeMetricFamily(name, words, value=value)


class _Handler(BaseHTTPRequestHandler):
    situation: Situation
    registry: CollectorRegistry

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._send(HTTPStatus.OK, generate_latest(self.registry), CONTENT_TYPE_LATEST)
        elif path in PATHS:
            status, words = PATHS[path](self.situation)
            self._send(status, f"{words}\n".encode(), "text/plain; charset=utf-8")
        else:
            known = ", ".join([*PATHS, "/metrics"])
            self._send(HTTPStatus.NOT_FOUND, f"no such page; there are {known}\n".encode(), "text/plain")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the parent's name)
        """Requests are not logged: a scrape every few seconds is no news."""

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

"""The readiness probe against servers that are ready, not ready, somebody else, or broken in every way."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

import httpx2
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from moet_boot.engine.readiness import MAX_BODY_BYTES, ProbeLimits, ProbeResult, Readiness, ReadinessProbe

NAME = "deepseek-v4-flash"
MODELS = {"object": "list", "data": [{"id": "other"}, {"id": NAME, "max_model_len": 256}]}
PATIENT = ProbeLimits(health_s=30, models_s=30, generate_s=30)
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Without the certificates of all authorities, which take longer to load than a test takes."""


def completion(text: str) -> dict[str, object]:
    return {"object": "text_completion", "choices": [{"index": 0, "text": text, "finish_reason": "length"}]}


@contextmanager
def prober(
    url: str, limits: ProbeLimits = PATIENT, clock: Callable[[], float] = time.monotonic, **headers: str
) -> Iterator[ReadinessProbe]:
    with httpx2.Client(base_url=url, headers=headers, trust_env=False, verify=NO_TLS) as client:
        yield ReadinessProbe(client, NAME, limits, clock)


def probe(server: HTTPServer, limits: ProbeLimits = PATIENT) -> ProbeResult:
    with prober(server.url_for(""), limits) as it:
        return it.probe()


@pytest.fixture
def server(httpserver: HTTPServer) -> HTTPServer:
    """A server whose health and models are fine; each test adds its completions."""
    httpserver.expect_request("/health").respond_with_data("")
    httpserver.expect_request("/v1/models").respond_with_json(MODELS)
    return httpserver


class TestReady:
    def test_one_token_makes_it_ready(self, server: HTTPServer) -> None:
        server.expect_request("/v1/completions", method="POST").respond_with_json(completion("nd"))
        result = probe(server)
        assert (result.readiness, result.step, result.why) == (Readiness.READY, "generate", "")
        assert result.ready
        assert result.seconds > 0

    def test_what_is_asked_for(self, server: HTTPServer) -> None:
        asked: list[dict[str, object]] = []

        def answer(request: Request) -> Response:
            asked.append(json.loads(request.data))
            return Response(json.dumps(completion("x")))

        server.expect_request("/v1/completions").respond_with_handler(answer)
        assert probe(server).ready
        assert [(a["model"], a["max_tokens"], a["temperature"]) for a in asked] == [(NAME, 1, 0)]

    def test_a_first_token_without_text_is_given_a_second_chance(self, server: HTTPServer) -> None:
        """Half a character, or an end mark, decodes to nothing."""
        server.expect_ordered_request("/health").respond_with_data("")
        server.expect_ordered_request("/v1/models").respond_with_json(MODELS)
        server.expect_ordered_request("/v1/completions").respond_with_json(completion(""))
        server.expect_ordered_request("/v1/completions").respond_with_json(completion("€"))
        assert probe(server).ready

    def test_only_health(self, server: HTTPServer) -> None:
        with prober(server.url_for("")) as it:
            assert it.health().ready
        server.clear()
        server.expect_request("/health").respond_with_data("", status=503)
        with prober(server.url_for("")) as it:
            assert it.health().readiness is Readiness.UNHEALTHY


HEALTH = [
    (Response(status=503), Readiness.UNHEALTHY, "the engine behind the server is dead"),
    (Response("Not Found", status=404), Readiness.FOREIGN, "/health answers 404 (Not Found)"),
    (Response(status=302, headers={"Location": "/elsewhere"}), Readiness.FOREIGN, "/health answers 302"),
    (Response("boom", status=500), Readiness.UNHEALTHY, "/health answers 500 (boom)"),
    (Response(b"x" * (MAX_BODY_BYTES + 1)), Readiness.FOREIGN, "sends more than"),
]
LISTS = [
    (Response("<html>hello</html>"), Readiness.FOREIGN, "not a list of models"),
    (Response("[" * 100_000), Readiness.FOREIGN, "not a list of models"),
    (Response("null"), Readiness.FOREIGN, "not a list of models"),
    (Response('{"data": {"id": "x"}}'), Readiness.FOREIGN, "not a list of models"),
    (Response(b"\xff\xfe"), Readiness.FOREIGN, "not a list of models"),
    (Response("{}", status=404), Readiness.FOREIGN, "/v1/models answers 404"),
    (Response('{"data": [{"id": "llama"}, 7, {"id": 3}]}'), Readiness.FOREIGN, f"serves llama, not {NAME}"),
    (Response('{"data": []}'), Readiness.FOREIGN, f"serves nothing, not {NAME}"),
    (Response(status=401), Readiness.UNHEALTHY, "wants an API key"),
]
TOKENS = [
    (Response(json.dumps(completion(""))), "the model's output is empty"),
    (Response('{"error": {"message": "The decoder prompt cannot be empty"}}', status=400), "prompt cannot be empty"),
    (Response(status=500), "answers 500"),
    (Response("{"), "instead of a token"),
    (Response("[]"), "instead of a token"),
    (Response('{"choices": []}'), "instead of a token"),
    (Response('{"choices": [{"text": null}]}'), "instead of a token"),
    (Response('{"choices": "text"}'), "instead of a token"),
]


@pytest.mark.parametrize(("answer", "readiness", "why"), HEALTH, ids=[row[2] for row in HEALTH])
def test_health(httpserver: HTTPServer, answer: Response, readiness: Readiness, why: str) -> None:
    httpserver.expect_request("/health").respond_with_response(answer)
    result = probe(httpserver)
    assert (result.readiness, result.step) == (readiness, "health")
    assert why in result.why


@pytest.mark.parametrize(("answer", "readiness", "why"), LISTS, ids=range(len(LISTS)))
def test_models(httpserver: HTTPServer, answer: Response, readiness: Readiness, why: str) -> None:
    httpserver.expect_request("/health").respond_with_data("")
    httpserver.expect_request("/v1/models").respond_with_response(answer)
    result = probe(httpserver)
    assert (result.readiness, result.step) == (readiness, "models")
    assert why in result.why


@pytest.mark.parametrize(("answer", "why"), TOKENS, ids=range(len(TOKENS)))
def test_healthy_servers_that_generate_nothing(server: HTTPServer, answer: Response, why: str) -> None:
    server.expect_request("/v1/completions").respond_with_response(answer)
    result = probe(server)
    assert (result.readiness, result.step) == (Readiness.SILENT, "generate")
    assert why in result.why


def test_a_key_is_needed_for_the_token(server: HTTPServer) -> None:
    server.expect_request("/v1/completions", headers={"Authorization": "Bearer k"}).respond_with_json(completion("x"))
    server.expect_request("/v1/completions").respond_with_data("", status=401)
    assert "wants an API key" in probe(server).why
    with prober(server.url_for(""), Authorization="Bearer k") as it:
        assert it.probe().ready


def test_a_hang_behind_good_health(server: HTTPServer) -> None:
    let_go = threading.Event()

    def hang(_request: Request) -> Response:
        let_go.wait(30)
        return Response("{}")

    server.expect_request("/v1/completions").respond_with_handler(hang)
    result = probe(server, replace(PATIENT, generate_s=0.3))
    let_go.set()
    assert (result.readiness, result.step) == (Readiness.SILENT, "generate")
    assert result.why == "/v1/completions did not answer within 0.3 s"


def test_nothing_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with prober(f"http://127.0.0.1:{unused.getsockname()[1]}") as it:
            result = it.probe()
    assert (result.readiness, result.step) == (Readiness.REFUSED, "health")


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that speaks bytes, for what no HTTP library would send."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    talk(connection)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def close_at_once(connection: socket.socket) -> None:
    connection.recv(100)


def speak_another_protocol(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")


def promise_more_than_comes(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")


def drip(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    for _ in range(100):
        connection.sendall(b"x")
        time.sleep(0.01)


def redirect_to_nowhere(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 301 Moved\r\nLocation: http://[bad\r\nContent-Length: 0\r\n\r\n")


def compress_badly(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc")


@pytest.mark.parametrize(
    ("talk", "readiness", "why"),
    [
        (close_at_once, Readiness.UNHEALTHY, "/health broke off"),
        (speak_another_protocol, Readiness.UNHEALTHY, "/health broke off"),
        (promise_more_than_comes, Readiness.UNHEALTHY, "/health broke off"),
        (drip, Readiness.UNHEALTHY, "/health did not finish its answer in time"),
        (redirect_to_nowhere, Readiness.FOREIGN, "/health answers 301"),
        (compress_badly, Readiness.UNHEALTHY, "/health broke off"),
    ],
)
def test_broken_answers_never_raise(talk: Callable[[socket.socket], None], readiness: Readiness, why: str) -> None:
    ten_seconds_a_look = count(0.0, 10.0)
    with raw_server(talk) as url, prober(url, clock=lambda: next(ten_seconds_a_look)) as it:
        result = it.probe()
    assert (result.readiness, result.step) == (readiness, "health")
    assert why in result.why

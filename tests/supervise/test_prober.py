import pytest
from pytest_httpserver import HTTPServer

from moet_boot.supervise.prober import STILL_SECONDS, HttpProber

COMPLETION = {"choices": [{"text": "a"}]}


class Clock:
    def __init__(self) -> None:
        self.t = 0.0

    def __call__(self) -> float:
        return self.t


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def prober(httpserver: HTTPServer, clock: Clock) -> HttpProber:
    httpserver.expect_request("/health").respond_with_data("")
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "m"}]})
    return HttpProber(httpserver.url_for(""), "m", clock=clock)


def metrics(httpserver: HTTPServer, running: int, tokens: int) -> None:
    page = f"vllm:num_requests_running {running}\nvllm:generation_tokens_total {tokens}\n"
    httpserver.expect_oneshot_request("/metrics").respond_with_data(page)


def test_an_idle_server_must_generate_a_token(httpserver: HTTPServer, prober: HttpProber) -> None:
    metrics(httpserver, 0, 5)
    httpserver.expect_oneshot_request("/v1/completions").respond_with_json(COMPLETION)
    assert prober.alive().ok
    metrics(httpserver, 0, 5)
    httpserver.expect_request("/v1/completions").respond_with_json({"choices": [{"text": ""}]})
    assert not prober.alive().ok


def test_a_busy_server_is_asked_for_no_token(httpserver: HTTPServer, prober: HttpProber) -> None:
    metrics(httpserver, 1, 5)
    assert prober.alive().ok
    assert not [r for r, _ in httpserver.log if r.path == "/v1/completions"]


def test_a_busy_server_whose_counters_move_is_alive_for_ever(
    httpserver: HTTPServer, prober: HttpProber, clock: Clock
) -> None:
    for tokens in range(5):
        metrics(httpserver, 1, tokens)
        assert prober.alive().ok
        clock.t += STILL_SECONDS - 1


def test_a_busy_server_whose_counters_stand_still_is_hung(
    httpserver: HTTPServer, prober: HttpProber, clock: Clock
) -> None:
    metrics(httpserver, 3, 7)
    assert prober.alive().ok
    clock.t += STILL_SECONDS + 1
    metrics(httpserver, 3, 7)
    answer = prober.alive()
    assert not answer.ok
    assert "3 requests wait and no token came for 901 s" in answer.fault


def test_without_metrics_a_token_decides(httpserver: HTTPServer, prober: HttpProber) -> None:
    httpserver.expect_request("/v1/completions").respond_with_json(COMPLETION)
    assert prober.alive().ok


def test_a_dead_engine_is_not_alive(httpserver: HTTPServer, clock: Clock) -> None:
    httpserver.expect_request("/health").respond_with_data("", status=503)
    answer = HttpProber(httpserver.url_for(""), "m", clock=clock).alive()
    assert (answer.ok, answer.step) == (False, "health")


def test_the_key_is_shown_to_the_server(httpserver: HTTPServer) -> None:
    headers = {"Authorization": "Bearer k"}
    httpserver.expect_request("/health", headers=headers).respond_with_data("")
    httpserver.expect_request("/v1/models", headers=headers).respond_with_json({"data": [{"id": "m"}]})
    httpserver.expect_request("/v1/completions", headers=headers).respond_with_json(COMPLETION)
    assert HttpProber(httpserver.url_for(""), "m", "k").ready().ok


@pytest.mark.parametrize(
    ("body", "status"),
    [({"choices": []}, 200), ({"choices": [{"message": {"content": ""}}]}, 200), ([], 200), ({}, 500)],
    ids=["no choice", "empty", "no object", "error"],
)
def test_an_answer_that_is_none_is_a_fault(
    httpserver: HTTPServer, prober: HttpProber, body: object, status: int
) -> None:
    httpserver.expect_request("/v1/chat/completions").respond_with_json(body, status=status)
    answer = prober.ask("hello")
    assert not answer.ok
    assert answer.fault


def test_an_answer_is_passed_on(httpserver: HTTPServer, prober: HttpProber) -> None:
    httpserver.expect_request("/v1/chat/completions").respond_with_json({"choices": [{"message": {"content": "hi"}}]})
    assert prober.ask("hello").answer == "hi"


def test_nobody_there_is_a_fault_and_no_exception() -> None:
    assert not HttpProber("http://127.0.0.1:9", "m").ask("hello").ok
    assert not HttpProber("http://127.0.0.1:9", "m").alive().ok

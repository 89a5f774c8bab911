import ssl
from collections.abc import Iterator

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from moet_boot.errors import BusyError
from moet_boot.exits import Exit
from moet_boot.phases import Phase
from moet_boot.supervise.endpoints import Endpoints
from moet_boot.supervise.situation import Situation

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Without the certificates of all authorities, which take longer to load than a test takes."""


@pytest.fixture
def situation() -> Situation:
    return Situation(profile="demo", available_bytes=5, lowest_available_bytes=3)


@pytest.fixture
def client(situation: Situation) -> Iterator[httpx2.Client]:
    endpoints = Endpoints(situation, 0)
    with httpx2.Client(base_url=f"http://127.0.0.1:{endpoints.port}", trust_env=False, verify=NO_TLS) as http:
        yield http
    endpoints.close()


def test_a_boot_is_live_but_not_ready_and_says_why(client: httpx2.Client, situation: Situation) -> None:
    situation.phase = Phase.LOADING_WEIGHTS
    assert client.get("/livez").status_code == 200
    for path in ("/readyz", "/startupz"):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (503, "phase: loading weights\n")


def test_a_ready_server_is_ready_until_it_is_stopped(client: httpx2.Client, situation: Situation) -> None:
    situation.ready = True
    assert client.get("/readyz?verbose").status_code == 200
    situation.ending = True
    answer = client.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "the server is being stopped\n")
    assert client.get("/livez").status_code == 200


def test_a_server_that_left_a_question_unanswered_is_not_ready_until_it_answers(
    client: httpx2.Client, situation: Situation
) -> None:
    situation.ready, situation.doubt = True, "no token for 60 s, 1 of 3"
    answer = client.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "no token for 60 s, 1 of 3\n")
    assert metrics(client)["moet_boot_ready"] == 0
    assert client.get("/startupz").status_code == 200, "it has started, whatever came later"
    situation.doubt = ""
    assert client.get("/readyz").status_code == 200


def metrics(client: httpx2.Client) -> dict[str, float]:
    text = client.get("/metrics").text
    return {
        s.name + ("|" + s.labels["phase"] if "phase" in s.labels else ""): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }


def test_metrics_are_prometheus_and_follow_the_situation(client: httpx2.Client, situation: Situation) -> None:
    before = metrics(client)
    assert before["moet_boot_ready"] == 0
    assert before["moet_boot_memory_available_bytes"] == 5
    assert "moet_boot_boot_seconds" not in before
    situation.ready, situation.phase, situation.boot_seconds = True, Phase.SERVING, 12.5
    after = metrics(client)
    assert after["moet_boot_ready"] == 1
    assert after["moet_boot_boot_seconds"] == 12.5
    assert [p for p in Phase if after[f"moet_boot_phase|{p.value}"]] == [Phase.SERVING]


def test_another_path_is_told_what_there_is(client: httpx2.Client) -> None:
    answer = client.get("/health")
    assert answer.status_code == 404
    assert "/readyz" in answer.text


def test_only_loopback_listens(client: httpx2.Client) -> None:
    assert client.base_url.host == "127.0.0.1"


def test_a_taken_port_is_busy(client: httpx2.Client, situation: Situation) -> None:
    with pytest.raises(BusyError, match="is taken") as error:
        Endpoints(situation, client.base_url.port or 0)
    assert error.value.code is Exit.BUSY

import json
import socket
import threading
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError, UsageError
from moet_boot.exits import Exit
from moet_boot.fetch import hub as module
from moet_boot.fetch.hub import Hub
from moet_boot.fetch.trouble import NetworkError
from tests.fetch.fake_hub import COMMIT, TOKEN, FakeHub, Fault, listed, serving
from tests.fetch.scene import MODEL


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The client's own pauses between tries take no time; how long they would have been."""
    pauses: list[float] = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", pauses.append)
    return pauses


def read(hub: Hub, name: str, start: int, stop: int) -> bytes:
    with hub.stream(MODEL, COMMIT, name, start, stop) as answer:
        assert answer.start in {0, start}
        return b"".join(answer.pieces)


def test_a_branch_is_a_commit(fake: FakeHub) -> None:
    assert Hub(fake.url).commit(MODEL) == COMMIT


def test_the_listing_has_size_and_digest(fake: FakeHub) -> None:
    content = fake.repos[MODEL]["config.json"]
    files = {file.path: file for file in Hub(fake.url).files(MODEL, COMMIT)}
    assert set(files) == set(fake.repos[MODEL])
    assert files["config.json"].size == len(content)
    assert not files["config.json"].large
    assert files["model-00001-of-00003.safetensors"].large


def test_a_listing_of_several_pages_is_followed(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [[listed("a", b"1", large=False)], [listed("b", b"2", large=False)]]

    def send(handler: object, status: int, body: bytes, headers: dict[str, str], fault: object = None) -> None:
        asked_again = "cursor" in getattr(handler, "path", "")
        more = {} if asked_again else {"Link": f'<{fake.url}/api/models/{MODEL}/tree/{COMMIT}?cursor=x>; rel="next"'}
        original(handler, status, json.dumps(pages[asked_again]).encode(), headers | more, fault)  # type: ignore[arg-type]

    from tests.fetch.fake_hub import _Handler

    original = _Handler._send
    monkeypatch.setattr(_Handler, "_send", send)
    assert [file.path for file in Hub(fake.url).files(MODEL, COMMIT)] == ["a", "b"]


def test_bytes_from_the_middle(fake: FakeHub) -> None:
    content = fake.repos[MODEL]["config.json"]
    assert read(Hub(fake.url), "config.json", 3, 9) == content[3:9]


def test_a_hub_without_ranges_sends_everything_and_that_is_known(fake: FakeHub) -> None:
    fake.ranges = False
    with Hub(fake.url).stream(MODEL, COMMIT, "config.json", 3, 9) as answer:
        assert (answer.start, answer.size) == (0, len(fake.repos[MODEL]["config.json"]))


def test_a_part_that_does_not_say_which(fake: FakeHub) -> None:
    fake.fault = lambda _request: Fault(headers={"Content-Range": "bytes */*"})
    with pytest.raises(ArtefactDamagedError, match="does not say which"):
        read(Hub(fake.url), "config.json", 3, 9)


def test_the_token_goes_to_the_hub_and_not_to_its_storage(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with serving(FakeHub(fake.repos)) as storage:
        fake.elsewhere = storage.url.replace("127.0.0.1", "localhost")
        read(Hub(fake.url), "config.json", 0, 4)
    assert [asked.authorization for asked in fake.file_requests()] == [f"Bearer {TOKEN}"]
    assert [asked.authorization for asked in storage.file_requests()] == [None]


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up"])
def test_a_name_that_leads_away_is_refused(fake: FakeHub, name: str) -> None:
    fake.listing = [listed(name, b"x", large=False)]
    with pytest.raises(ArtefactDamagedError, match="outside of itself"):
        Hub(fake.url).files(MODEL, COMMIT)


@pytest.mark.parametrize(
    ("repo", "commit", "error"),
    [
        pytest.param("owner/other", COMMIT, ArtefactMissingError, id="repository"),
        pytest.param(MODEL, "f" * 40, ArtefactMissingError, id="revision"),
        pytest.param("not a repo!", COMMIT, UsageError, id="name"),
    ],
)
def test_what_the_hub_does_not_have(fake: FakeHub, repo: str, commit: str, error: type[MoetBootError]) -> None:
    with pytest.raises(error) as caught:
        Hub(fake.url).files(repo, commit)
    assert repo in caught.value.what
    assert caught.value.fix


def test_a_branch_of_no_repository(fake: FakeHub) -> None:
    with pytest.raises(ArtefactMissingError, match="owner/other at main"):
        Hub(fake.url).commit("owner/other")


@pytest.mark.parametrize(
    ("status", "code", "exit_code", "named"),
    [
        pytest.param(404, "EntryNotFound", Exit.ARTEFACT_MISSING, "no such file", id="file"),
        pytest.param(404, "", Exit.ARTEFACT_MISSING, "does not have it", id="without-a-reason"),
        pytest.param(403, "GatedRepo", Exit.FAILURE, "accept", id="gated"),
        pytest.param(401, "", Exit.FAILURE, "HF_TOKEN", id="no-token"),
        pytest.param(403, "", Exit.FAILURE, "HF_TOKEN", id="token-refused"),
        pytest.param(416, "", Exit.ARTEFACT_DAMAGED, "shorter", id="out-of-range"),
        pytest.param(429, "", Exit.FAILURE, "HTTP 429", id="too-many-requests"),
        pytest.param(500, "", Exit.FAILURE, "HTTP 500", id="broken-hub"),
    ],
)
def test_refusals(fake: FakeHub, status: int, code: str, exit_code: Exit, named: str) -> None:
    fake.fault = lambda _request: Fault(status=status, code=code)
    with pytest.raises(MoetBootError) as caught:
        read(Hub(fake.url), "config.json", 0, 4)
    assert caught.value.code is exit_code
    assert named in str(caught.value)


def test_a_token_that_is_wrong_is_not_shown(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.token = TOKEN
    monkeypatch.setenv("HF_TOKEN", "hf_AnotherOne99999999999")
    with pytest.raises(MoetBootError) as caught:
        Hub(fake.url).files(MODEL, COMMIT)
    assert "HF_TOKEN" in caught.value.fix
    assert "hf_" not in str(caught.value)


def test_a_private_repository_looks_like_none(fake: FakeHub) -> None:
    fake.token = TOKEN
    with pytest.raises(ArtefactMissingError, match=r"or a private one -> .*HF_TOKEN"):
        Hub(fake.url).files(MODEL, COMMIT)


def test_a_line_that_breaks_may_be_tried_again(fake: FakeHub) -> None:
    fake.fault = lambda _request: Fault(cut_after=2)
    with pytest.raises(NetworkError, match=r"config.json of owner/model: the hub did not answer"):
        read(Hub(fake.url), "config.json", 0, 9)


@pytest.mark.usefixtures("impatient")
def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(NetworkError, match="did not answer"):
            Hub(f"http://127.0.0.1:{taken.getsockname()[1]}").files(MODEL, COMMIT)


@pytest.mark.parametrize("endpoint", ["nonsense", "http://[", "ftp://x"])
@pytest.mark.usefixtures("impatient")
def test_an_address_that_is_none(endpoint: str) -> None:
    with pytest.raises(NetworkError):
        Hub(endpoint).files(MODEL, COMMIT)


@pytest.mark.parametrize(
    "listing",
    [b"<html>please log in</html>", [{"type": "file"}], {"error": "x"}, [1]],
    ids=["page", "keys", "object", "number"],
)
def test_something_else_than_a_hub_answers(fake: FakeHub, listing: object) -> None:
    fake.listing = listing
    with pytest.raises(NetworkError, match="what answers there is no hub"):
        Hub(fake.url).files(MODEL, COMMIT)


def test_a_hub_that_never_lists(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(Hub, "_entries", lambda *_: never.wait(50))
    monkeypatch.setattr(module, "LISTING_S", 0.0)
    with pytest.raises(NetworkError, match="no answer in 0 s"):
        Hub(fake.url).files(MODEL, COMMIT)
    never.set()


def test_offline_is_the_users_own_wish(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(MoetBootError, match="HF_HUB_OFFLINE"):
        Hub(fake.url).files(MODEL, COMMIT)


def test_the_client_keeps_quiet(
    fake: FakeHub, impatient: list[float], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    del impatient, tmp_path
    fake.fault = lambda _request: Fault(status=500)
    with pytest.raises(NetworkError):
        read(Hub(fake.url), "config.json", 0, 4)
    assert capfd.readouterr() == ("", "")

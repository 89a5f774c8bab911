"""What systemd hears of a whole `serve`, over a real socket of the kind that it hands out."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from moet_boot.supervise.notify import SystemdNotifier
from tests.scripted_engine import start as scripted
from tests.serve.scripted import Serve, running, serving, wait_until, write_profile

WATCHDOG_USEC = 4_000_000


class Systemd:
    """The receiving end; `heard` has every line in the order of arrival."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self._socket.setblocking(False)
        self._lines: list[str] = []

    @property
    def heard(self) -> list[str]:
        while True:
            try:
                self._lines += self._socket.recv(1 << 16).decode().split("\n")
            except BlockingIOError:
                return self._lines

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "path" else f"@moet-boot-test-{os.getpid()}-{tmp_path.name}"


@pytest.fixture
def systemd(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Systemd]:
    made = Systemd(address)
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    yield made
    made.close()


@pytest.mark.slow
def test_ready_comes_after_the_token_and_signs_of_life_go_on(
    tmp_path: Path, systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", str(WATCHDOG_USEC))
    with serving(tmp_path, boot_s=2) as run:
        wait_until(lambda: "READY=1" in systemd.heard)
        before = systemd.heard[: systemd.heard.index("READY=1")]
        assert [line for line in before if line in {"STATUS=loading weights", "STATUS=KV cache", "STATUS=warm-up"}] == [
            "STATUS=loading weights",
            "STATUS=KV cache",
            "STATUS=warm-up",
        ]
        assert f"MAINPID={run.process.pid}" in before
        assert "EXTEND_TIMEOUT_USEC=120000000" in before
        so_far = systemd.heard.count("WATCHDOG=1")
        wait_until(lambda: systemd.heard.count("WATCHDOG=1") >= so_far + 3)
        assert run.stop()[0] == 143
    assert systemd.heard[-1] == "STOPPING=1"
    assert any(line.startswith("STATUS=SIGTERM received") for line in systemd.heard)


@pytest.mark.slow
@pytest.mark.parametrize("address", ["abstract"], indirect=True)
def test_the_watchdog_is_fed_while_a_stop_has_its_grace_and_before_a_restart(
    tmp_path: Path, systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", str(WATCHDOG_USEC))
    port = scripted.free_port()
    profile = write_profile(tmp_path, port, budget=1)
    text = (
        profile.read_text()
        .replace("backoff_s = 0.2", "backoff_s = 3")
        .replace("backoff_max_s = 0.4", "backoff_max_s = 3")
    )
    profile.write_text(text)
    knobs = scripted.environment(die_after_s=3, ignore_term=True)
    with running(Serve(tmp_path, str(profile), port, ("--grace", "4"), knobs)) as run:
        wait_until(lambda: any("restart 1 in 3 s" in line for line in systemd.heard))
        died = systemd.heard.count("WATCHDOG=1")
        wait_until(lambda: systemd.heard.count("WATCHDOG=1") >= died + 2)
        assert systemd.heard.count("READY=1") == 1, "so it was fed in the pause"
        wait_until(lambda: systemd.heard.count("READY=1") == 2)
        run.process.terminate()
        wait_until(lambda: any("SIGTERM received" in line for line in systemd.heard))
        stopping = systemd.heard.count("WATCHDOG=1")
        assert run.end()[0] == 143
    assert systemd.heard.count("WATCHDOG=1") >= stopping + 2


@pytest.mark.slow
@pytest.mark.parametrize("address", ["path"], indirect=True)
def test_a_refusal_is_never_ready(tmp_path: Path, systemd: Systemd) -> None:
    with scripted.listener(None) as other, serving(tmp_path, port=other.getsockname()[1]) as run:
        assert run.end()[0] == 10
    assert "READY=1" not in systemd.heard


@pytest.mark.parametrize("full", [True, False], ids=["nobody reads", "nobody is there"])
def test_a_systemd_that_does_not_listen_holds_nobody_up(address: str, systemd: Systemd, full: bool) -> None:
    notifier = SystemdNotifier({"NOTIFY_SOCKET": address})
    if not full:
        systemd.close()
    sent = [notifier.send("WATCHDOG=1") for _ in range(5000)]
    assert not sent[-1]
    assert sent[0] is full

"""The command itself; what it does in a container is tested there (tests/docker)."""

import pytest

from moet_boot.cli.main import run


def test_help_names_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["entrypoint", "--help"]) == 0
    shown = capsys.readouterr().out
    for name in ("PROFILE", "VARIANT", "SET", "ACCEPT_RISK", "VERIFY", "MODE", "STOP_GRACE", "BASE_ENTRYPOINT"):
        assert f"MOET_BOOT_{name}" in shown
    assert "docker run" in shown


def test_without_a_profile_it_says_how_to_name_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["entrypoint"]) == 2
    assert "MOET_BOOT_PROFILE is not set" in capsys.readouterr().err


def test_health_without_a_server(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOET_BOOT_PROFILE", "demo")
    assert run(["entrypoint", "--health"]) == 1
    assert capsys.readouterr().err == "no supervisor runs here\n"


@pytest.mark.parametrize("mode", ["supervise", "exec"])
def test_what_is_missing_has_the_code_of_serve(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("MOET_BOOT_PROFILE", "demo")
    monkeypatch.setenv("MOET_BOOT_MODE", mode)
    monkeypatch.setenv("MOET_BOOT_SET", "path.checkpoint=/nowhere/model")
    monkeypatch.setenv("MOET_BOOT_BASE_ENTRYPOINT", '["true"]')
    assert run(["entrypoint", "--unknown-to-us", "7"]) == 6
    assert "/nowhere/model does not exist" in capsys.readouterr().err

"""Exec mode: what is run in our place, and what keeps it from being run."""

import shutil
import stat
import sys
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactMissingError, MoetBootError
from moet_boot.exits import Exit
from moet_boot.launch.chained_plan import Chain
from moet_boot.preflight import Prepared, Request
from moet_boot.supervise.become import become_server
from tests.serve.scripted import write_profile

Ran = list[tuple[str, tuple[str, ...], dict[str, str]]]


def request(folder: Path, *entrypoint: str, extra: tuple[str, ...] = ()) -> Request:
    profile = write_profile(folder, 8123)
    return Request(profile=str(profile), chain=Chain(entrypoint), extra=extra)


def become(asked: Request, env: dict[str, str] | None = None, **options: bool) -> tuple[Exit, Ran, list[Prepared]]:
    ran: Ran = []
    told: list[Prepared] = []
    code = become_server(asked, told.append, env=env or {}, execute=lambda *call: ran.append(call), **options)
    return code, ran, told


def test_it_runs_the_chain_with_the_plans_environment_over_ours(tmp_path: Path) -> None:
    asked = request(tmp_path, sys.executable, "-m", "server", extra=("--seed", "7"))
    code, ran, told = become(asked, {"MINE": "1", "DO_NOT_TRACK": "0"})
    assert code is Exit.DONE
    ((program, argv, env),) = ran
    assert program == sys.executable
    assert argv[:3] == (sys.executable, "-m", "server")
    assert argv[-2:] == ("--seed", "7")
    assert (env["MINE"], env["DO_NOT_TRACK"]) == ("1", "1")
    assert [prepared.plan.argv for prepared in told] == [argv]


def test_a_program_is_found_on_the_containers_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "serve-it"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    asked = request(tmp_path, "serve-it")
    monkeypatch.setenv("PATH", str(program.parent))
    _, ran, _ = become(asked, {"PATH": str(program.parent)})
    assert ran[0][:2] == (str(program), ran[0][1])
    assert ran[0][1][0] == "serve-it"


def test_a_refusal_is_told_and_nothing_is_run(tmp_path: Path) -> None:
    asked = request(tmp_path, sys.executable)
    shutil.rmtree(tmp_path / "model")
    code, ran, told = become(asked)
    assert code is Exit.ARTEFACT_MISSING
    assert not ran
    assert [finding.id for finding in told[0].verdict.refusals] == ["MODEL.PRESENT"]


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    asked = Request(
        profile=str(write_profile(tmp_path, 8123)), chain=Chain(("/nowhere/serve",)), accepted=("ENGINE.PRESENT",)
    )
    with pytest.raises(ArtefactMissingError, match="/nowhere/serve does not exist"):
        become(asked)


def test_a_program_of_another_machine(tmp_path: Path) -> None:
    def execute(*_call: object) -> None:
        raise OSError(8, "Exec format error")

    asked = request(tmp_path, sys.executable)
    with pytest.raises(MoetBootError, match="Exec format error") as caught:
        become_server(asked, lambda _prepared: None, env={}, execute=execute)
    assert "architecture" in caught.value.fix

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from moet_boot import __version__
from moet_boot.cli import main as cli
from moet_boot.cli.main import COMMANDS, run
from moet_boot.errors import ArtefactMissingError, MoetBootError
from moet_boot.exits import MEANING, Exit


def test_every_exit_code_has_a_meaning_that_the_help_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(MEANING) == set(Exit)
    assert run(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for code in Exit:
        assert f"{code.value} " in shown


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"moet-boot {__version__}\n"


@pytest.mark.parametrize("argv", [["nope"], ["status", "--nope"], ["receipts", "nope"], ["status", "--port", "x"]])
def test_wrong_usage_is_one_line_and_exit_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "Traceback" not in captured.err


def raising(error: BaseException) -> object:
    def command(*_args: object, **_kwargs: object) -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MoetBootError("x"), 1),
        (ArtefactMissingError("x", fix="y"), 6),
        (MoetBootError("x", code=Exit.BUSY), 10),
        (KeyboardInterrupt(), 130),
    ],
    ids=["known", "its own code", "a code given", "Ctrl-C"],
)
def test_known_failures_have_their_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "app", raising(error))
    assert run([]) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("where", ["moet_boot.supervise.stopping.stop_server", "moet_boot.cli.lazy.import_module"])
def test_ctrl_c_in_a_command_is_one_line_and_130(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(where, raising(KeyboardInterrupt()))
    assert run(["stop"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(("code", "said"), [(130, "interrupted\n"), (143, "interrupted\n"), (1, "")])
def test_an_early_signal_says_a_line(
    code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "app", raising(SystemExit(code)))
    with pytest.raises(SystemExit) as ending:
        run(["serve"])
    assert (ending.value.code, capsys.readouterr().err) == (code, said)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--version"], "warning: MOET_BOOT_STATEDIR means nothing to moet-boot; did you mean MOET_BOOT_STATE_DIR?\n"),
        (["entrypoint", "--help"], ""),
    ],
    ids=["any command", "entrypoint refuses it instead"],
)
def test_a_mistyped_variable_is_told(
    argv: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOET_BOOT_STATEDIR", "/somewhere")
    assert run(argv) == 0
    assert capsys.readouterr().err == said


def test_a_mistyped_variable_is_an_event_in_json_mode(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOET_BOOT_STATEDIR", "/somewhere")
    assert run(["stop", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.err)["schema"] == "moet-boot/warning/v1"
    assert json.loads(captured.out)["schema"] == "moet-boot/stop/v1"


def test_a_bug_is_70_with_a_log_that_has_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(cli, "app", raising(ZeroDivisionError("oops")))
    assert run(["serve", "--json"]) == 70
    captured = capsys.readouterr()
    assert "ZeroDivisionError: oops" in captured.err
    document = json.loads(captured.out)
    assert document["exit_code"] == 70
    log = Path(document["fix"].rsplit(" ", 1)[1])
    assert "Traceback" in log.read_text()
    assert __version__ in log.read_text()


def test_a_bug_of_a_command_that_is_no_text_has_its_log_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(cli, "app", raising(ZeroDivisionError("oops")))
    assert run(["serve", "caf\udcff"]) == 70
    assert "oops" in capsys.readouterr().err
    assert any("caf\\udcff" in log.read_text() for log in tmp_path.rglob("*.log"))


def test_a_bug_where_nothing_can_be_written_is_told_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nowhere(**_options: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.mkdtemp", nowhere)
    monkeypatch.setattr(cli, "app", raising(ZeroDivisionError("oops")))
    assert run(["serve", "--json"]) == 70
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert "TMPDIR" in json.loads(captured.out)["fix"]


def all_commands() -> list[list[str]]:
    """Every command as its words, those of groups too."""
    found: list[list[str]] = []
    for name, module in COMMANDS.items():
        below = getattr(import_module(module), "COMMANDS", None)
        found += [[name, sub] for sub in below] if below else [[name]]
    return found


@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_every_command_has_help_with_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    usage, _, rest = shown.partition("[OPTIONS]")
    assert usage
    assert f"moet-boot {' '.join(words)}" in rest


@pytest.mark.parametrize("group", ["", "guard", "planes", "profiles", "receipts"])
def test_every_group_has_help_with_an_example_and_nothing_of_the_shells(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*group.split(), "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"moet-boot {group}".strip() in shown.partition("[ARGS]")[2].partition("Options")[0]
    assert "--install-completion" not in shown


@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_every_command_speaks_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "heavy"),
    [
        (["--version"], ["pydantic", "docker", "numpy", "httpx2", "pynvml", "prometheus_client"]),
        (["status", "--help"], ["docker", "numpy", "httpx2", "pynvml", "prometheus_client"]),
        (["profiles", "list", "--help"], ["docker", "numpy", "httpx2", "prometheus_client"]),
    ],
    ids=["version", "status", "profiles"],
)
def test_startup_imports_only_what_the_command_needs(argv: list[str], heavy: list[str]) -> None:
    program = f"import sys; from moet_boot.cli.main import run; run({argv!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(heavy) & set(done.stderr.split()) == set()


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    piped = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m moet_boot --help | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in piped.stderr


@pytest.mark.parametrize(
    ("shell", "code", "said"),
    [
        ("--version >&-", 0, ""),
        ("profiles schema >&- 2>&-", 0, ""),
        ("profiles schema 2>&-", 0, ""),
        *[
            (f"{command} >/dev/full", 1, "error: the result could not be written: No space left on device")
            for command in ("profiles schema", "--help", "serve --help", "stop --json")
        ],
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_streams_that_are_closed_or_full(
    shell: str, code: int, said: str, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = ["bash", "-c", f"{sys.executable} -m moet_boot {shell}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.splitlines()[:1] == ([said] if said else [])
    assert "Traceback" not in done.stderr

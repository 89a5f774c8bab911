import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from moet_boot.cli.main import run
from moet_boot.profile.files import shipped_names
from tests.checks.cases import FIELD, resolved
from tests.guard.unruly import within

SAFE = str(FIELD / "spark-tn-nvml-not-supported.json")
PORT = str(FIELD / "spark-port-taken.json")
WARN = str(FIELD / "spark-earlyoom-will-kill.json")
SHIPPED = [(name, variant) for name in shipped_names() for variant in ("plain", *resolved(name, None, ()).variants)]


def spark(*more: str) -> int:
    return run(["preflight", "--profile", "spark", *more])


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        pytest.param(("--snapshot", SAFE), 0, id="safe"),
        pytest.param(("--snapshot", WARN), 0, id="warn"),
        pytest.param(("--snapshot", WARN, "--fail-on-warn"), 4, id="fail-on-warn"),
        pytest.param(("--snapshot", SAFE, "--fail-on-warn"), 0, id="nothing-to-fail-on"),
        pytest.param(("--snapshot", PORT), 3, id="refused"),
        pytest.param(("--snapshot", PORT, "--set", "port=8011"), 0, id="another-port"),
        pytest.param(("--snapshot", PORT, "--accept-risk", "NET.PORT"), 0, id="accepted"),
        pytest.param(("--snapshot", str(FIELD / "spark-plane-truncated.json")), 5, id="damaged"),
    ],
)
def test_exit_codes(argv: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert spark(*argv) == code
    assert capsys.readouterr().out


@pytest.mark.parametrize(("profile", "variant"), SHIPPED)
def test_every_shipped_profile_passes_a_dry_run(profile: str, variant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["preflight", "--profile", profile, "--variant", variant, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] != "refuse"


def test_an_override_that_breaks_a_rule_fails_a_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["preflight", "--profile", "rtx6000-a", "--dry-run", "--set", "VLLM_MOE_W2_DELTA_GB=7"]
    assert run(argv) == 3
    assert "RULE.POOL_CEILING" in capsys.readouterr().out


def test_the_verdict_stands_first_then_refusals_then_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    spark("--snapshot", str(FIELD / "spark-swap-thrash-now.json"))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0].startswith("REFUSE  spark: 4 findings against this boot")
    marks = [line[0] for line in lines if line[:2] in {"x ", "! "}]
    assert marks == sorted(marks, reverse=True)
    assert marks.count("x") == 4
    for label in ("measured", "required", "why", "fix"):
        assert any(line.strip().startswith(label) for line in lines)
    passed = [line for line in lines if " passed: " in line]
    assert len(passed) == 1
    assert any(line.startswith("unified memory: 6.80 GiB available") for line in lines)


def test_an_accepted_risk_is_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    spark("--snapshot", PORT, "--accept-risk", "NET.PORT")
    out = capsys.readouterr().out
    assert out.startswith("WARN  spark: can start, 1 thing to know")
    assert "the port is free [accepted]" in out


def test_a_bar_shows_where_the_memory_ends(capsys: pytest.CaptureFixture[str]) -> None:
    spark("--snapshot", str(FIELD / "spark-cotenant-vllm-070.json"))
    planes = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("reading planes"))
    bar = planes[16:]
    assert bar.index("|") < bar.rindex("█")
    spark("--snapshot", SAFE)
    planes = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("reading planes"))
    assert planes.index("|") > planes.rindex("█")


def test_json_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert spark("--snapshot", PORT, "--json") == 3
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert next(iter(document)) == "schema"
    assert document["schema"] == "moet-boot/preflight/v1"
    assert captured.err == ""


def test_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.xml"
    assert spark("--snapshot", PORT, "--junit", str(file)) == 3
    suite = next(iter(JUnitXml.fromfile(str(file))))
    assert (suite.name, suite.failures) == ("moet-boot preflight spark", 1)


def big_file(folder: Path) -> str:
    """A sparse file of 1 GiB."""
    file = folder / "big.json"
    with file.open("wb") as stream:
        stream.truncate(1 << 30)
    return str(file)


def written(folder: Path, text: str) -> str:
    file = folder / "snapshot.json"
    file.write_text(text)
    return str(file)


NEGATIVE = '{"meminfo": {"MemTotal": 100, "MemFree": -1}}'
ABSURD = '{"meminfo": {"MemTotal": 100, "MemFree": 10, "MemAvailable": 1000}}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("{", "line 1", id="broken"),
        pytest.param("[]", "", id="no-object"),
        pytest.param('{"schema": "moet-boot/snapshot/v9", "arch": "x"}', "v9", id="future"),
        pytest.param(NEGATIVE, "MemFree", id="negative"),
        pytest.param(ABSURD, "MemAvailable", id="absurd"),
    ],
)
def test_a_snapshot_that_is_none(text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spark("--snapshot", written(tmp_path, text)) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "snapshot.json" in errors[0]
    assert words in errors[0]


def test_a_snapshot_of_1_gib_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spark("--snapshot", big_file(tmp_path)) == 2
    assert "1.00 GiB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        pytest.param(["--profile", "sparc"], "did you mean spark?", id="profile"),
        pytest.param(["--profile", "spark", "--variant", "mpt"], "did you mean mtp?", id="variant"),
        pytest.param(["--profile", "spark", "--set", "max-modl-len=1"], "max-model-len", id="key"),
        pytest.param(["--profile", "spark", "--set", "novalue"], "KEY=VALUE", id="no-value"),
        pytest.param(["--profile", "spark", "--accept-risk", "MEM.AVAILBLE"], "did you mean MEM.AVAILABLE?", id="risk"),
        pytest.param(["--profile", "spark", "--verify", "ful"], "did you mean full?", id="verify"),
        pytest.param(["--profile", "spark", "--runtime", "dock"], "did you mean docker?", id="runtime"),
        pytest.param(["--profile", "spark", "--path", "nope=/x"], "checkpoint", id="path"),
        pytest.param(["--profile", "spark", "--dry-run", "--junit", "/no/such/r.xml"], "--junit", id="junit"),
        pytest.param([], "--profile", id="no-profile"),
        pytest.param(["--profile", "spark", "--nope"], "--nope", id="option"),
    ],
)
@pytest.mark.parametrize("json_mode", [False, True], ids=["human", "json"])
def test_bad_input_is_one_line_and_exit_2(
    argv: list[str], words: str, json_mode: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["preflight", *argv, *(["--json"] if json_mode else [])]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert sum(line.startswith("error: ") for line in captured.err.splitlines()) == 1
    if json_mode:
        assert json.loads(captured.out)["exit_code"] == 2


def test_a_profile_file_that_is_broken_names_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nbroken =\n')
    assert run(["preflight", "--profile", str(file), "--dry-run"]) == 2
    assert "mine.toml:2:" in capsys.readouterr().err


def child(*argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "moet_boot", "preflight", *argv]
    clean = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=clean | env, timeout=50)


@pytest.mark.parametrize(
    ("env", "colour"),
    [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
    ids=["forced", "no-color-wins"],
)
def test_colour(env: dict[str, str], colour: bool) -> None:
    done = child("--profile", "spark", "--snapshot", PORT, **env)
    assert done.returncode == 3
    assert ("\x1b[" in done.stdout) is colour


def test_a_dry_run_is_fast_and_loads_nothing_that_looks_at_a_machine() -> None:
    code = (
        "import sys; from moet_boot.cli.main import run; code = run(sys.argv[1:]);"
        "print([m for m in ('docker', 'pynvml', 'psutil', 'numpy', 'httpx2') if m in sys.modules], file=sys.stderr);"
        "sys.exit(code)"
    )

    def seconds_of_processor() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", code, "preflight", "--profile", "spark", "--dry-run"],
            capture_output=True,
            text=True,
            check=False,
            timeout=50,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert (done.returncode, done.stderr.strip()) == (0, "[]")
        return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)

    # processor time, and more than one try: the clock on the wall also counts everybody else on the machine
    assert within(1.0, seconds_of_processor)


def test_a_reader_that_goes_away_is_no_bug() -> None:
    command = f"{sys.executable} -m moet_boot preflight --profile spark --snapshot {PORT} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=50)
    assert done.stdout.startswith("REFUSE")
    assert done.stderr == ""


def test_the_help_carries_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["preflight", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "moet-boot preflight --profile spark --snapshot machine.json --json" in " ".join(shown.split())
    for option in ("--accept-risk", "--dry-run", "--junit", "--verify", "--set", "--fail-on-warn", "--path"):
        assert option in shown


def documented(argv: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    run(argv)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_user_who_may_not_accept_is_told_by_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    case = str(FIELD / "spark-lfs-pointer-shards.json")
    argv = ["preflight", "--profile", "spark", "--snapshot", case, "--accept-risk", "MODEL.COMPLETE", "--json"]
    document = documented(argv, capsys)
    assert document["verdict"] == "refuse"
    (finding,) = [f for f in document["findings"] if f["id"] == "MODEL.COMPLETE"]
    assert finding["acceptable"] is False

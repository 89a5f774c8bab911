"""`planes inspect`, `diff`, `convert` and `skip-forecast` as a user calls them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from moet_boot.cli.main import run
from moet_boot.planes.server_version import ServerVersion
from testing.golden import GOLDEN
from testing.plane_file import FOREIGN, OWN, flip
from testing.skip_cases import CASES, CHECKPOINT, apply, case_env, make_tree

STORE, CACHE = GOLDEN / "vi_store_v1" / "store", GOLDEN / "vi_store_v1" / "planes"
V1_ID = "32e148f173429ae30cfcc670f4307098adcfdd20"
Captured = pytest.CaptureFixture[str]


def call(capsys: Captured, *argv: str | Path) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON document and talk of a command with --json."""
    code = run(["planes", *map(str, argv), "--json"])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, json.loads(captured.out), captured.err


def talk(capsys: Captured, *argv: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command for people."""
    code = run(["planes", *map(str, argv)])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


def forecast_arguments(env: dict[str, str], model: str, server: ServerVersion) -> list[str | Path]:
    options = [part for name, value in env.items() for part in ("--env", f"{name}={value}")]
    return ["skip-forecast", *options, "--model-dir", CHECKPOINT, "--served-path", model, "--server", server]


@pytest.mark.parametrize(
    "argv",
    [["verify", OWN], ["inspect", OWN], ["diff", OWN, OWN], ["convert", OWN, "--to", "moet2pf", "--out", "OUT"]],
    ids=lambda argv: argv[0],
)
def test_permission_is_a_matter_of_the_file_and_not_of_usage(
    argv: list[str | Path], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the command line must not look at it first, whose answer would be exit 2: opening the file gives 5
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    code, _, _ = call(capsys, *(tmp_path / "out" if part == "OUT" else part for part in argv))
    assert code == 0


@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize("identity", ["P01", "P06", "P07", "P12", "P18", "P22", "C02", "C15", "C19", "C21", "C23"])
def test_forecasts_of_golden_cases(identity: str, server: ServerVersion, tmp_path: Path, capsys: Captured) -> None:
    case = next(case for case in CASES if case["id"] == identity)
    tree = make_tree(tmp_path / "tree", server)
    for operation in case["ops"]:
        apply(tree, operation)
    code, document, _ = call(capsys, *forecast_arguments(case_env(tree, case), case["model"], server))
    expected = case[server]
    assert code == 0
    assert document["schema"] == "moet-boot/skip-forecast/v1"
    assert document["server"] == server
    assert document["verdict"] == expected["verdict"]
    assert [layer["w2"] for layer in document["layers"]] == expected["is_w2"]
    assert [layer["skip"] for layer in document["layers"]] == expected["probe"]
    assert any(layer["danger"] for layer in document["layers"]) is ("danger" in expected)
    assert set(document["layers"][0]) >= {"layer", "w2", "skip", "source", "served", "reason", "fix", "danger"}
    staged = sum(w2 and not skip for w2, skip in zip(expected["is_w2"], expected["probe"], strict=True))
    assert document["staged_bytes"] == staged * 4 * 98_304 * 17 // 32


def test_a_forecast_through_mounts_for_people(capsys: Captured) -> None:
    env = {"VLLM_MOE_W2": "1", "VLLM_MOE_W2_DELTA_GB": "0", "VLLM_MOE_W2_PLANES_CACHE": "/planescache"}
    arguments = forecast_arguments(env, "/model", ServerVersion.V1)
    code, out, _ = talk(capsys, *arguments, "--map", f"/planescache={CACHE}")
    assert code == 0
    assert "layers   0-1: skipped, from the planes-cache" in out
    assert "8 of 8 slots compared with the checkpoint" in out
    assert "verdict  hit" in out
    code, out, _ = talk(capsys, *arguments, "--map", f"/elsewhere={CACHE}", "--contents", "none")
    assert "is not under any mount of the container" in out
    assert "verdict  miss" in out


def test_a_forecast_of_a_profile(tmp_path: Path, capsys: Captured) -> None:
    arguments: list[str | Path] = ["skip-forecast", "--profile", "rtx6000-b", "--model-dir", CHECKPOINT]
    code, document, _ = call(capsys, *arguments, "--map", f"/planescache={CACHE}")
    assert code == 0
    assert document["verdict"] == "hit"
    code, document, _ = call(capsys, *arguments, "--map", f"/planescache={tmp_path}", "--env", "VLLM_MOE_W2_DELTA_GB=2")
    assert document["verdict"] == "miss"
    assert document["layers"][0]["cause"] == "incomplete"


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        pytest.param(["skip-forecast"], 2, "--model-dir, --served-path, --server", id="nothing said"),
        pytest.param(
            ["skip-forecast", "--profile", "spark"], 2, "neither packs nor a planes cache", id="plane file profile"
        ),
        pytest.param(["skip-forecast", "--profile", "nope"], 2, "nope", id="unknown profile"),
        pytest.param(["skip-forecast", "--set", "port=1"], 2, "there is none", id="set without profile"),
        pytest.param(["skip-forecast", "--env", "X"], 2, "KEY=VALUE", id="env without a value"),
        pytest.param(["skip-forecast", "--server", "v3"], 2, "v3", id="unknown server"),
        pytest.param(["inspect", "/nowhere"], 6, "does not exist", id="nothing to inspect"),
        pytest.param(["inspect", str(CHECKPOINT)], 5, "holds no plane file", id="nothing known"),
        pytest.param(["inspect", str(CHECKPOINT / "config.json")], 5, "MOET2PF", id="another file"),
        pytest.param(["diff", str(OWN), "/nowhere"], 6, "does not exist", id="nothing to compare"),
        pytest.param(["convert", str(OWN), "--to", "pack-v1", "--out", "x"], 2, "needs the identity", id="no identity"),
        pytest.param(["convert", str(OWN), "--to", "zip", "--out", "x"], 2, "zip", id="unknown container"),
        pytest.param(["convert", "/nowhere", "--to", "pack-v1", "--out", "x"], 6, "does not exist", id="no source"),
    ],
)
def test_bad_input_is_one_message_and_its_code(
    argv: list[str], code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    got, out, err = talk(capsys, *argv)
    assert got == code
    assert out == ""
    assert words in err
    assert err.count("error: ") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_bad_environment_is_refused_as_the_server_would(capsys: Captured) -> None:
    env = {"VLLM_MOE_W2": "1", "VLLM_MOE_W2_DELTA_GB": "six"}
    code, out, err = talk(capsys, *forecast_arguments(env, "/model", ServerVersion.V1))
    assert (code, out) == (2, "")
    assert "VLLM_MOE_W2_DELTA_GB='six'" in err


def test_inspect_describes_every_path(capsys: Captured) -> None:
    code, document, _ = call(capsys, "inspect", STORE, CACHE, OWN, FOREIGN["a"])
    assert code == 0
    assert document["schema"] == "moet-boot/planes-inspect/v1"
    found = [(it["kind"], it["format"], it["layers"]) for it in document["artefacts"]]
    assert found == [
        ("pack", "v1", [0, 1]),
        ("pack", "v1", [0, 1]),
        ("planes-cache", "v1", [0, 1]),
        ("moet2pf", "own", [0, 1]),
        ("moet2pf", "foreign", []),
    ]
    assert document["artefacts"][3]["hidden"] == 256
    code, out, _ = talk(capsys, "inspect", STORE, CACHE, OWN, "--checkpoint", CHECKPOINT)
    assert code == 0
    assert out.count("verdict  complete") == 4
    assert "2 layers of 4 experts, 256 x 128" in out


def test_inspect_of_damage_ends_with_5(tmp_path: Path, capsys: Captured) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    os.truncate(tree.file("base_pack"), 100)
    code, out, _ = talk(capsys, "inspect", tree.store)
    assert code == 5
    assert "PROBLEM" in out
    assert "verdict  DAMAGED" in out


def test_diff_says_the_same_or_names_the_slots(tmp_path: Path, capsys: Captured) -> None:
    code, document, _ = call(capsys, "diff", OWN, STORE)
    assert (code, document["same"], document["slots"]) == (0, True, 8)
    tree = make_tree(tmp_path / "tree", ServerVersion.V2)
    flip(tree.file("part:1.sc13"), 2048 * 2)
    code, document, _ = call(capsys, "diff", OWN, tree.cache)
    assert code == 5
    assert document["differing"] == [{"layer": 1, "expert": 2, "sections": ["sc13"], "reason": None}]
    code, out, _ = talk(capsys, "diff", OWN, tree.cache)
    assert "layer 1 expert 2: sc13" in out
    assert "verdict  DIFFERENT" in out


def test_convert_writes_and_reports(tmp_path: Path, capsys: Captured) -> None:
    arguments: list[str | Path] = [
        "convert",
        OWN,
        "--to",
        "cache-v1",
        "--checkpoint",
        CHECKPOINT,
        "--served-path",
        "/model",
    ]
    code, document, err = call(capsys, *arguments, "--out", tmp_path / "cache")
    assert code == 0
    assert document["schema"] == "moet-boot/planes-convert/v1"
    assert (document["ckpt_id"], document["fp4"], document["slots"]) == (V1_ID, "plain", 8)
    assert '"stage": "slots"' in err
    code, out, _ = talk(capsys, *arguments, "--out", tmp_path / "other", "--fp4", "none")
    assert code == 0
    assert "FP4      none" in out
    code, _, err = talk(capsys, *arguments, "--out", tmp_path / "cache")
    assert code == 2
    assert "--force" in err


@pytest.mark.parametrize("command", ["inspect", "diff", "convert", "skip-forecast"])
def test_help_has_examples(command: str, capsys: Captured) -> None:
    code, out, _ = talk(capsys, command, "--help")
    assert code == 0
    assert f"moet-boot planes {command}" in " ".join(out.split())

"""The 34 public reports, judged the way a person would: through the command line."""

import io
import json
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from moet_boot.cli.main import run
from tests.checks.cases import FIELD, GIB_KB, GONE, change, field_case

CASES = sorted(path.stem for path in FIELD.glob("*.json"))


def judge(file: Path, profile: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a preflight over a snapshot."""
    with redirect_stdout(io.StringIO()) as out:
        code = run(["preflight", "--profile", profile, "--snapshot", str(file), "--json"])
    document: dict[str, Any] = json.loads(out.getvalue())
    return code, document


@cache
def judged(name: str) -> tuple[int, dict[str, Any]]:
    """The same for a case as it is; every test of this file looks at one run of it."""
    return judge(FIELD / f"{name}.json", field_case(name)["profile"])


def reasons(document: dict[str, Any]) -> str:
    """What warnings and refusals tell a person, joined and in lower case."""
    told = [f for f in document["findings"] if f["status"] in {"warn", "refuse"}]
    return " ".join(f"{f['measured']} {f['required']} {f['why']} {f['fix']}" for f in told).lower()


def test_all_cases_are_here() -> None:
    assert len(CASES) == 34


@pytest.mark.parametrize("name", CASES)
def test_a_case_gets_its_verdict_and_its_reason(name: str) -> None:
    expect = field_case(name)["expect"]
    code, document = judged(name)
    assert document["verdict"] in {expect["verdict"], *expect["also_ok"]}, reasons(document)
    for alternatives in expect["reason_contains"]:
        assert any(word.lower() in reasons(document) for word in alternatives.split("|")), alternatives
    assert (code in {3, 5, 6}) is (document["verdict"] == "refuse")


@pytest.mark.parametrize("name", [name for name in CASES if field_case(name)["expect"]["verdict"] == "safe"])
def test_true_negatives_are_safe_and_not_just_let_through(name: str) -> None:
    code, document = judged(name)
    assert (code, document["verdict"]) == (0, "safe"), reasons(document)


def test_no_check_knows_a_case() -> None:
    """No id of a case and no figure that occurs in one case only stands in the code that judges."""
    package = Path(__file__).parents[1] / "moet_boot"
    rooms = [*package.glob("checks/*.py"), *package.glob("preflight/*.py"), *package.glob("forecast/*.py")]
    code = "\n".join(path.read_text() for path in rooms)
    for name in CASES:
        assert name not in code
        for process in field_case(name)["snapshot"]["nvml"]["gpus"][0]["processes"]:
            assert str(process["pid"]) not in code


def freed(name: str, gib: float) -> dict[str, Any]:
    """The memory figures of a case once `gib` of them came back."""
    meminfo = field_case(name)["snapshot"]["meminfo"]
    return {f"meminfo.{key}": meminfo[key] + int(gib * GIB_KB) for key in ("MemFree", "MemAvailable")}


def uncached(name: str, gib: float) -> dict[str, Any]:
    """The same where what came back was shared memory, which `Cached` contains."""
    meminfo = field_case(name)["snapshot"]["meminfo"]
    less = {f"meminfo.{key}": meminfo[key] - int(gib * GIB_KB) for key in ("Shmem", "Cached")}
    return {**freed(name, gib), **less}


NOBODY: dict[str, Any] = {"nvml.gpus.0.processes": []}
FRESH_BLOCKS = field_case("spark-tn-nvml-not-supported")["snapshot"]["buddyinfo"]["free_blocks_by_order"]
PLANE = "/data/models/ds4-planes.moet2pf"
REMEDIES: dict[str, dict[str, Any]] = {
    "rtx-cold-boot-62gib-host": {"files.0.complete": True, "files.1.complete": True},
    "rtx-driver-570-cuda13-image": {"nvml.driver": "580.95.05", "nvml.cuda_driver": "13.0"},
    "rtx-orphan-enginecore": {**NOBODY, "nvml.gpus.0.memory.used": 4_194_304},
    "rtx-selected-gpu-busy": {"env.CUDA_VISIBLE_DEVICES": "1"},
    "rtx-wsl2-hidden-overhead": {"os.wsl": False, "nvml.gpus.0.memory.used": 4_194_304},
    "spark-amd64-image": {"docker.image.arch": "arm64", "docker.image.cuda_archs": ["12.1a"]},
    "spark-cotenant-vllm-070": {**NOBODY, **freed("spark-cotenant-vllm-070", 81)},
    "spark-fragmented-long-uptime": {
        "uptime_s": 300,
        "vmstat.compact_fail": 0,
        "buddyinfo.free_blocks_by_order": FRESH_BLOCKS,
    },
    "spark-hugetlb-pool-reserved": {
        "sysctl.vm:nr_hugepages": 0,
        "meminfo.HugePages_Total": 0,
        "meminfo.HugePages_Free": 0,
        **freed("spark-hugetlb-pool-reserved", 64),
    },
    "spark-image-without-sm121": {"docker.image.cuda_archs": ["9.0a", "12.0a", "12.1a"]},
    "spark-just-stopped-container": freed("spark-just-stopped-container", 76),
    "spark-kho-cma-anomaly": {"cmdline": "kho=off", "meminfo.CmaFree": 0, **freed("spark-kho-cma-anomaly", 22.4)},
    "spark-leaked-dev-shm": {"fs.shm.used_bytes": 20_000_000, **uncached("spark-leaked-dev-shm", 38)},
    "spark-lfs-pointer-shards": {
        "checkpoint.lfs_pointers": 0,
        "checkpoint.total_bytes": 159_617_149_040,
        "files.1.size": 5_000_000_000,
        "files.1.head": GONE,
    },
    "spark-min-free-kbytes-4gib": {"sysctl.vm:min_free_kbytes": 67_584, "meminfo.MemAvailable": 110_195_400},
    "spark-orphan-enginecore": {**NOBODY, "processes": [], **freed("spark-orphan-enginecore", 101.8)},
    "spark-plane-on-tmpfs": {
        "fs.plane": {"path": PLANE, "fstype": "ext4", "free_bytes": 10**12, "o_direct": True},
        "files.0.path": PLANE,
        **uncached("spark-plane-on-tmpfs", 72.56),
    },
    "spark-plane-truncated": {"files.0.size": 77_913_923_584},
    "spark-port-taken": {"ports_in_use": [{"port": 22, "process": "sshd"}]},
    "spark-swap-thrash-now": {
        **NOBODY,
        **freed("spark-swap-thrash-now", 102),
        "meminfo.SwapFree": 16_777_216,
        "swaps.0.used_kb": 0,
        "pressure.memory": {"some_avg10": 0.0, "full_avg10": 0.0},
        "vmstat.pgmajfault_per_s": 0,
    },
    "spark-trapped-driver-memory": {
        "uptime_s": 120,
        "nvml.gpus.0.utilization_pct": 0,
        **freed("spark-trapped-driver-memory", 83),
    },
}


def test_every_refused_case_has_a_remedy() -> None:
    assert set(REMEDIES) == {name for name in CASES if field_case(name)["expect"]["verdict"] == "refuse"}


@pytest.mark.parametrize("name", sorted(REMEDIES))
def test_what_the_remedy_names_is_what_was_wrong(name: str, tmp_path: Path) -> None:
    file = tmp_path / "fixed.json"
    fixed = change(json.loads((FIELD / f"{name}.json").read_text())["snapshot"], REMEDIES[name])
    file.write_text(json.dumps(fixed))
    code, document = judge(file, field_case(name)["profile"])
    assert document["verdict"] in {"safe", "warn"}, reasons(document)
    assert code == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rtx-selected-gpu-busy", "cuda_visible_devices=1"),
        ("spark-trapped-driver-memory", "reboot"),
        ("spark-just-stopped-container", "wait and poll memavailable"),
        ("spark-kho-cma-anomaly", "kho=off"),
        ("spark-hugetlb-pool-reserved", "vm.nr_hugepages=0"),
        ("spark-min-free-kbytes-4gib", "vm.min_free_kbytes=67584"),
        ("spark-orphan-enginecore", "kill 48211"),
        ("spark-lfs-pointer-shards", "git lfs pull"),
        ("spark-port-taken", "--set port=8011"),
        ("rtx-driver-570-cuda13-image", "branch r580"),
    ],
)
def test_the_remedy_is_a_command_or_a_deed(name: str, words: str) -> None:
    fixes = " ".join(f["fix"] for f in judged(name)[1]["findings"] if f["status"] == "refuse").lower()
    assert words in fixes


@pytest.mark.parametrize(
    ("name", "code"),
    [("spark-plane-truncated", 5), ("spark-lfs-pointer-shards", 5), ("spark-port-taken", 3), ("spark-amd64-image", 3)],
)
def test_exit_codes(name: str, code: int) -> None:
    assert judged(name)[0] == code

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from moet_boot.checks.finding import Sight
from moet_boot.cli.preflight_view import verdict_view
from moet_boot.errors import UsageError
from moet_boot.machine.request import SnapshotRequest
from moet_boot.machine.snapshot import Snapshot
from moet_boot.phases import Phase
from moet_boot.preflight import Level, Request, Verify, prepare
from moet_boot.preflight.document import preflight_document
from moet_boot.preflight.prepare import Prepared
from moet_boot.profile.files import shipped_names
from moet_boot.receipts.model import Attempt, GuardAction, PhaseRecord, PlanRecord, Receipt, Versions
from tests.checks.cases import FIELD, change, healthy, resolved

GIB = 1 << 30
SHIPPED = [(name, variant) for name in shipped_names() for variant in (None, *resolved(name, None, ()).variants)]


class Machine:
    """A recorder that remembers what it was asked for."""

    def __init__(self, profile: str, changes: dict[str, Any] | None = None) -> None:
        self.snapshot = Snapshot.model_validate(change(healthy(profile), changes or {}))
        self.asked: list[SnapshotRequest] = []

    def __call__(self, request: SnapshotRequest) -> Snapshot:
        self.asked.append(request)
        return self.snapshot


def live(request: Request, machine: Machine, receipts: tuple[Receipt, ...] = ()) -> Prepared:
    return prepare(request, env={}, record=machine, receipts=lambda: receipts)


@pytest.mark.parametrize(("profile", "variant"), SHIPPED)
def test_a_dry_run_needs_nothing_and_finds_nothing(profile: str, variant: str | None) -> None:
    def nobody(request: SnapshotRequest) -> Snapshot:
        raise AssertionError("a dry run looks at no machine")

    prepared = prepare(Request(profile, variant, dry_run=True), env={}, record=nobody)
    assert prepared.verdict.level is not Level.REFUSE
    assert prepared.case.sight is Sight.REHEARSED
    assert prepared.verdict.exit_code() == 0


@pytest.mark.parametrize(
    ("profile", "override", "id_"),
    [
        ("rtx6000-a", "VLLM_MOE_W2_DELTA_GB=7", "RULE.POOL_CEILING"),
        ("rtx6000-a", "max-num-batched-tokens=2048", "RULE.POOL_BATCH"),
        ("rtx6000-b", "kv-cache-dtype=bfloat16", "RULE.KV_DTYPE"),
        ("rtx6000-b", "gpu-memory-utilization=0.8", "GPU.VRAM"),
    ],
)
def test_an_override_that_breaks_a_rule_is_refused_in_a_dry_run(profile: str, override: str, id_: str) -> None:
    verdict = prepare(Request(profile, sets=(override,), dry_run=True), env={}).verdict
    assert id_ in [finding.id for finding in verdict.refusals]
    assert verdict.exit_code() == 3


def test_a_dry_run_against_a_snapshot_judges_that_machine() -> None:
    file = FIELD / "spark-orphan-enginecore.json"
    prepared = prepare(Request("spark", snapshot=file, dry_run=True), env={})
    assert prepared.verdict.level is Level.REFUSE
    assert prepared.case.sight is Sight.REHEARSED


def test_a_live_preflight_records_what_the_plan_needs() -> None:
    machine = Machine("spark")
    prepared = live(Request("spark", verify=Verify.NONE, paths={"plane_file": "/data/p"}), machine)
    (asked,) = machine.asked
    assert asked.image == "vllm-moet-gb10:v024"
    assert {place.name: place.path for place in asked.places}["plane_file"] == "/data/p"
    assert prepared.case.sight is Sight.LIVE
    assert prepared.verdict.level is not Level.REFUSE


def test_the_plan_that_is_judged_uses_the_card_that_the_user_chose() -> None:
    machine = Machine("rtx6000-b", {"env": {"CUDA_VISIBLE_DEVICES": "1"}})
    container = live(Request("rtx6000-b"), machine).plan.container
    assert container is not None
    assert container.gpus == "device=1"
    kept = live(Request("rtx6000-b", sets=("gpus=0",)), machine).plan.container
    assert kept is not None
    assert kept.gpus == "device=0"


def receipt_of(digest: str, host_bytes: int) -> Receipt:
    phase = PhaseRecord(phase=Phase.GRAPH_CAPTURE, started_s=0, peak_host_bytes=host_bytes)
    return Receipt(
        id="r",
        created_at="2026-01-01",
        supervisor_pid=1,
        profile="spark",
        versions=Versions(moet_boot="0", python="3"),
        plan=PlanRecord(digest=digest, runtime="docker"),
        attempts=[Attempt(started_at="2026-01-01", phases=[phase])],
    )


def test_receipts_of_this_host_correct_its_forecast() -> None:
    machine = Machine("spark")
    request = Request("spark", verify=Verify.NONE)
    plain = live(request, machine)
    boots = tuple(receipt_of(plain.plan.digest, 108 * GIB) for _ in range(2))
    learned = live(request, machine, boots)
    assert learned.forecast.host_required_bytes == 116 * GIB
    assert learned.verdict.level is Level.REFUSE
    other = live(request, machine, (receipt_of("another plan", 108 * GIB),))
    assert other.forecast == plain.forecast


def killed_below_the_floor(receipt: Receipt, lowest: int) -> Receipt:
    attempt = receipt.attempts[0]
    attempt.available_before_bytes, attempt.lowest_available_bytes = 116 * GIB, lowest
    attempt.guard_actions = [GuardAction(at_s=9.0, action="kill", reason="below the floor")]
    return receipt


def test_kills_on_this_host_that_came_late_raise_the_floor_for_forecast_and_guard() -> None:
    machine, request = Machine("spark"), Request("spark", verify=Verify.NONE)
    plain = live(request, machine)
    kills = tuple(killed_below_the_floor(receipt_of("another plan", 0), 7 * GIB) for _ in range(2))
    taught = live(request, machine, kills)
    assert (plain.profile.guard.hard_floor_gib, taught.profile.guard.hard_floor_gib) == (8, 9)
    assert taught.resolved == plain.resolved
    assert "8 -> 9 GiB" in taught.lesson
    assert plain.lesson == ""
    told = [preflight_document(seen, 0.0)["memory"]["floors_raised"] for seen in (plain, taught)]
    assert told == [None, taught.lesson]
    shown = StringIO()
    Console(file=shown, width=400).print(verdict_view(taught))
    assert taught.lesson in shown.getvalue()
    kept = [max(phase.floor_bytes for phase in seen.forecast.phases) for seen in (plain, taught)]
    assert kept == [8 * GIB, 9 * GIB], "what is refused and what is killed stay the same number"


def test_receipts_of_this_host_say_nothing_about_another_machine() -> None:
    def none_of_its_business() -> tuple[Receipt, ...]:
        raise AssertionError("a replay has no past here")

    file = FIELD / "spark-tn-nvml-not-supported.json"
    prepared = prepare(Request("spark", snapshot=file), env={}, receipts=none_of_its_business)
    assert prepared.verdict.level is Level.SAFE


def test_the_receipts_on_disk_are_read_by_default(tmp_path: Path) -> None:
    prepared = prepare(Request("spark", verify=Verify.NONE), env={}, record=Machine("spark"))
    assert prepared.verdict.level is not Level.REFUSE


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(Request("sparc"), id="profile"),
        pytest.param(Request("spark", "mpt"), id="variant"),
        pytest.param(Request("spark", sets=("no-such-flag=1",)), id="override"),
        pytest.param(Request("spark", accepted=("MEM.NOPE",)), id="risk"),
        pytest.param(Request("spark", paths={"nope": "/x"}), id="artefact"),
        pytest.param(Request("spark", snapshot=Path("/no/such/file")), id="snapshot"),
        pytest.param(Request("spark", runtime="process"), id="runtime"),
    ],
)
def test_a_request_that_makes_no_sense(request_: Request) -> None:
    with pytest.raises(UsageError) as raised:
        prepare(request_, env={}, record=Machine("spark"))
    assert raised.value.code == 2
    assert raised.value.what


def test_a_profile_of_ones_own_works_where_a_name_does(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('schema = "moet-boot/profile/v1"\nname = "mine"\ntitle = "t"\nsummary = "s"\nextends = "spark"\n')
    prepared = prepare(Request(str(file), dry_run=True), env={})
    assert prepared.profile.name == "mine"
    assert prepared.verdict.level is Level.SAFE
    assert any(finding.id == "MEM.AVAILABLE" for finding in prepared.verdict.passes)


def test_overrides_of_the_environment_count() -> None:
    prepared = prepare(Request("rtx6000-a", dry_run=True), env={"MOET_BOOT_SET": "VLLM_MOE_W2_DELTA_GB=7"})
    assert prepared.verdict.exit_code() == 3


def test_accepting_a_risk_lets_that_one_through() -> None:
    file = FIELD / "spark-fragmented-long-uptime.json"
    assert prepare(Request("spark", snapshot=file), env={}).verdict.exit_code() == 3
    accepted = prepare(Request("spark", snapshot=file, accepted=("MEM.CONTIGUOUS",)), env={}).verdict
    assert accepted.level is Level.WARN
    assert accepted.accepted == ("MEM.CONTIGUOUS",)


def test_a_damaged_artefact_cannot_be_accepted() -> None:
    file = FIELD / "spark-plane-truncated.json"
    verdict = prepare(Request("spark", snapshot=file, accepted=("PLANE.SIZE",)), env={}).verdict
    assert verdict.exit_code() == 5


def test_a_recorded_snapshot_is_judged_again_alike(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    machine = Machine("spark", {"limits": {"nofile": 65536, "ipc_lock": True}})
    file.write_text(machine.snapshot.model_dump_json(by_alias=True))
    assert json.loads(file.read_text())["arch"] == "aarch64"
    seen = live(Request("spark", verify=Verify.NONE), machine)
    again = prepare(Request("spark", snapshot=file), env={})
    assert again.verdict.findings == seen.verdict.findings

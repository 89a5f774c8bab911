"""One way from a request to a verdict, the same for `preflight` and `serve`: the number refused is the number used."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from moet_boot.checks.finding import Case, Sight
from moet_boot.forecast import Forecast, boot_facts, forecast
from moet_boot.forecast.gpu_choice import with_chosen_device
from moet_boot.forecast.learned_floors import tighten
from moet_boot.launch.chained_plan import chained_plan
from moet_boot.launch.plan import LaunchPlan, build_plan
from moet_boot.machine.load import load_snapshot
from moet_boot.machine.request import SnapshotRequest, request_for
from moet_boot.machine.snapshot import Snapshot
from moet_boot.preflight.reference import reference_machine
from moet_boot.preflight.request import Request
from moet_boot.preflight.verdict import Verdict, check_risk_ids, judge
from moet_boot.profile.model import Profile
from moet_boot.profile.resolve import resolve_profile
from moet_boot.receipts.learned import measured_peaks
from moet_boot.receipts.model import Receipt


@dataclass(frozen=True)
class Prepared:
    """Everything between a request and a launch."""

    request: Request
    case: Case
    verdict: Verdict
    resolved: Profile
    """The profile as it was asked for; `profile` has the guard's floors that this host has taught."""
    lesson: str = ""
    """Why these floors are not the profile's own, if they are not."""

    @property
    def profile(self) -> Profile:
        return self.case.profile

    @property
    def plan(self) -> LaunchPlan:
        return self.case.plan

    @property
    def snapshot(self) -> Snapshot:
        return self.case.snapshot

    @property
    def forecast(self) -> Forecast:
        return self.case.forecast


Recorder = Callable[[SnapshotRequest], Snapshot]


def prepare(
    request: Request,
    *,
    env: Mapping[str, str],
    record: Recorder | None = None,
    receipts: Callable[[], Iterable[Receipt]] | None = None,
) -> Prepared:
    """Resolve the profile, plan the launch, look at the machine, forecast its memory, judge.

    `record` and `receipts` default to this machine's. Reads only. Raises UsageError for a request that makes no
    sense; what is wrong with the machine is in the verdict.
    """
    check_risk_ids(request.accepted)
    profile = resolve_profile(request.profile, request.variant, request.sets, env=env)
    plan = plan_for(request, profile)
    sight = _sight(request)
    snapshot = _look(request, profile, plan, record)
    plan = with_chosen_device(profile, plan, snapshot, recorded=sight is not Sight.LIVE)
    past = list((receipts or _own_receipts)()) if sight is Sight.LIVE else []
    lesson = tighten(profile.guard, past, profile.name)
    taught = profile.model_copy(update={"guard": lesson.floors})
    expected = forecast(taught, plan, boot_facts(taught, plan, snapshot), measured_peaks(past, plan.digest))
    case = Case(taught, plan, snapshot, expected, sight)
    return Prepared(request, case, judge(case, accepted=request.accepted), profile, lesson.reason)


def plan_for(request: Request, profile: Profile) -> LaunchPlan:
    """The plan of a request: for this machine, or for the container that we are in."""
    if request.chain is not None:
        return chained_plan(profile, request.chain, paths=request.paths, extra=request.extra)
    return build_plan(profile, runtime=request.runtime, paths=request.paths, engine=request.engine, extra=request.extra)


def _sight(request: Request) -> Sight:
    if request.dry_run:
        return Sight.REHEARSED
    return Sight.LIVE if request.snapshot is None else Sight.REPLAYED


def _look(request: Request, profile: Profile, plan: LaunchPlan, record: Recorder | None) -> Snapshot:
    if request.snapshot is not None:
        return load_snapshot(request.snapshot)
    if request.dry_run:
        return reference_machine(profile)
    # psutil, NVML, threads: a dry run needs none of them and is to be fast
    from moet_boot.machine.record import record as this_machine  # noqa: PLC0415
    from moet_boot.preflight.verified import with_verified_planes  # noqa: PLC0415

    seen = (record or this_machine)(request_for(profile, plan))
    return with_verified_planes(seen, profile, plan, request.verify.value)


def _own_receipts() -> list[Receipt]:
    from moet_boot.receipts.store import ReceiptStore  # noqa: PLC0415  (only a live machine has a past)

    return [listed.receipt for listed in ReceiptStore().list() if listed.receipt is not None]

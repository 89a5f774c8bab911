"""Cases for the checks: a healthy machine with a few facts changed."""

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from moet_boot.checks.catalogue import CHECKS
from moet_boot.checks.finding import Case, Finding, Sight
from moet_boot.forecast import boot_facts, forecast
from moet_boot.forecast.gpu_choice import with_chosen_device
from moet_boot.launch.plan import LaunchPlan, Runtime, build_plan
from moet_boot.machine.snapshot import Snapshot
from moet_boot.phases import Phase
from moet_boot.profile.model import Profile
from moet_boot.profile.resolve import resolve_profile
from moet_boot.receipts.learned import MeasuredPeak

FIELD = Path(__file__).parents[1] / "data" / "field"
HEALTHY = {
    "spark": "spark-tn-nvml-not-supported",
    "rtx6000-a": "rtx-tn-cached-boot-62gib-host",
    "rtx6000-b": "rtx-tn-iommu-on-single-gpu",
}
GIB_KB = 1 << 20
GONE = object()
"""As a value: the key is removed."""

DEMO: dict[str, Any] = {
    "arch": "x86_64",
    "kernel": "6.12.0",
    "os": {"id": "debian", "version": "13", "wsl": False},
    "uptime_s": 5400,
    "meminfo": {"MemTotal": 16 * GIB_KB, "MemFree": 10 * GIB_KB, "MemAvailable": 13 * GIB_KB, "Cached": 3 * GIB_KB},
    "swaps": [],
    "pressure": {"memory": {"some_avg10": 0.0, "full_avg10": 0.0}},
    "vmstat": {"compact_stall": 0, "compact_fail": 0, "pgmajfault_per_s": 0},
    "sysctl": {"vm.min_free_kbytes": 67584},
    "cgroup": {"version": 2, "path": "/", "memory_max": "max", "memory_high": "max", "memory_swap_max": "max"},
    "limits": {"nofile": 65536},
    "fs": {
        "root": {"path": "/", "fstype": "ext4", "free_bytes": 50 << 30},
        "model": {"path": ".demo/model", "fstype": "ext4", "free_bytes": 50 << 30, "o_direct": True},
    },
    "checkpoint": {"path": ".demo/model", "shards_present": 1, "total_bytes": 350_000, "lfs_pointers": 0},
    "engine": {"command": ".demo/engine/bin/vllm", "path": ".demo/engine/bin/vllm", "executable": True},
    "files": [],
    "ports_in_use": [],
    "processes": [],
    "clock": {"year": 2026},
    "env": {},
}


@cache
def field_case(name: str) -> dict[str, Any]:
    """A field case as it was recorded; not to be changed."""
    document: dict[str, Any] = json.loads((FIELD / f"{name}.json").read_text())
    return document


def healthy(profile: str) -> dict[str, Any]:
    """The snapshot of a healthy machine for a profile, as JSON."""
    if profile == "demo":
        return copy.deepcopy(DEMO)
    snapshot: dict[str, Any] = copy.deepcopy(field_case(HEALTHY[profile])["snapshot"])
    return snapshot


def change(document: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Set dotted paths (`nvml.gpus.0.memory.used`) in a JSON document; a name with a dot is written `vm:x`."""
    for path, value in changes.items():
        *parents, last = [part.replace(":", ".") for part in path.split(".")]
        place: Any = document
        for parent in parents:
            place = place[int(parent)] if isinstance(place, list) else place.setdefault(parent, {})
        if value is GONE:
            place.pop(last, None)
        elif isinstance(place, list):
            place[int(last) : int(last) + 1] = [value]
        else:
            place[last] = value
    return document


@cache
def resolved(profile: str, variant: str | None, sets: tuple[str, ...]) -> Profile:
    return resolve_profile(profile, variant, sets, env={})


def plan_of(
    profile: str,
    variant: str | None = None,
    sets: tuple[str, ...] = (),
    runtime: Runtime | None = None,
    extra: tuple[str, ...] = (),
) -> tuple[Profile, LaunchPlan]:
    """A resolved profile and its plan."""
    found = resolved(profile, variant, sets)
    return found, build_plan(found, runtime=runtime, extra=extra)


def case_of(
    profile: str,
    changes: Mapping[str, Any] | None = None,
    *,
    variant: str | None = None,
    sets: tuple[str, ...] = (),
    sight: Sight = Sight.REPLAYED,
    runtime: Runtime | None = None,
    extra: tuple[str, ...] = (),
    errors: Mapping[str, str] | None = None,
    peaks: Mapping[Phase, MeasuredPeak] | None = None,
) -> Case:
    """A healthy machine of a profile with some facts changed."""
    snapshot = Snapshot.model_validate(change(healthy(profile), changes or {}) | {"errors": dict(errors or {})})
    return case_over(snapshot, profile, variant, sets, sight, runtime, extra, peaks)


def case_over(
    snapshot: Snapshot,
    profile: str,
    variant: str | None = None,
    sets: tuple[str, ...] = (),
    sight: Sight = Sight.REPLAYED,
    runtime: Runtime | None = None,
    extra: tuple[str, ...] = (),
    peaks: Mapping[Phase, MeasuredPeak] | None = None,
) -> Case:
    """Any snapshot under a profile, the way `prepare` puts it together."""
    found, plan = plan_of(profile, variant, sets, runtime, extra)
    plan = with_chosen_device(found, plan, snapshot, recorded=sight is not Sight.LIVE)
    return Case(found, plan, snapshot, forecast(found, plan, boot_facts(found, plan, snapshot), peaks), sight)


def judge_by(id_: str, case: Case) -> Finding:
    """The finding of one check."""
    return next(check for check in CHECKS if check.id == id_).judge(case)


def said(finding: Finding) -> str:
    """Everything that a finding tells a person, in lower case."""
    return f"{finding.measured} {finding.required} {finding.why} {finding.fix}".lower()

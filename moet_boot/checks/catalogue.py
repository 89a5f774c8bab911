"""All checks, in the order in which people want to read them."""

from collections.abc import Iterable

from moet_boot.checks import (
    caches,
    containers,
    engine,
    gpu,
    gpu_memory,
    host,
    memory,
    memory_held,
    memory_kernel,
    model_files,
    network,
    plane_files,
    storage,
)
from moet_boot.checks.finding import Case, Check, Finding, Status
from moet_boot.checks.rules import RULE_IDS, rule_findings

CHECKS: tuple[Check, ...] = (
    *memory.CHECKS,
    *memory_held.CHECKS,
    *memory_kernel.CHECKS,
    *gpu.CHECKS,
    *gpu_memory.CHECKS,
    *host.CHECKS,
    *containers.CHECKS,
    *engine.CHECKS,
    *network.CHECKS,
    *storage.CHECKS,
    *model_files.CHECKS,
    *plane_files.CHECKS,
    *caches.CHECKS,
)

INTERNAL = "INTERNAL."


def known_ids() -> frozenset[str]:
    """Every id that a finding can have."""
    ids = {check.id for check in CHECKS} | set(RULE_IDS)
    return frozenset(ids | {f"{INTERNAL}{id_}" for id_ in (*(check.id for check in CHECKS), "RULE")})


def run_checks(case: Case, checks: Iterable[Check] = CHECKS) -> list[Finding]:
    """The findings of the checks and of the profile's rules; a check that crashes is a refusal, never a pass."""
    return [*(_judge(check, case) for check in checks), *_judge_rules(case)]


def _judge(check: Check, case: Case) -> Finding:
    try:
        return check.judge(case)
    except Exception as crash:  # noqa: BLE001  (a crash proves nothing, so whatever it was it refuses)
        return _crashed(check.id, check.title, crash)


def _judge_rules(case: Case) -> list[Finding]:
    try:
        return rule_findings(case.profile)
    except Exception as crash:  # noqa: BLE001  (as above)
        return [_crashed("RULE", "rules between settings", crash)]


def _crashed(id_: str, title: str, crash: Exception) -> Finding:
    return Finding(
        id=f"{INTERNAL}{id_}",
        status=Status.REFUSE,
        title=title,
        measured=f"the check crashed: {type(crash).__name__}: {crash}",
        required="a check that comes to an answer",
        why="a check that crashed proves nothing",
        fix=f"report it with this snapshot; until then --accept-risk {INTERNAL}{id_} lets it through",
    )

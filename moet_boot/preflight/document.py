"""The JSON document of a preflight (design 4)."""

from dataclasses import asdict
from typing import Any

from moet_boot.checks.finding import Finding
from moet_boot.forecast import Term
from moet_boot.preflight.pools import MemoryPool, memory_pools
from moet_boot.preflight.prepare import Prepared
from moet_boot.receipts.redact import redact_argv, redact_env

TEXTS = ("title", "measured", "required", "why", "fix", "source")


def preflight_document(prepared: Prepared, duration_s: float) -> dict[str, Any]:
    """The document, without its schema; secrets of the plan are redacted."""
    plan = prepared.plan
    return {
        "profile": prepared.profile.name,
        "variant": prepared.profile.variant,
        "verdict": prepared.verdict.level.value,
        "findings": [finding_row(finding) for finding in prepared.verdict.findings],
        "memory": _memory(memory_pools(prepared.case))
        | {"terms": [_term_row(t) for t in prepared.forecast.terms], "floors_raised": prepared.lesson or None},
        "plan": {
            "runtime": plan.runtime,
            "argv": redact_argv(plan.argv),
            "env": redact_env(plan.env),
            "mounts": [asdict(mount) for mount in plan.mounts],
            "container": None if plan.container is None else asdict(plan.container),
            "digest": plan.digest,
        },
        "accepted_risks": list(prepared.verdict.accepted),
        "duration_s": round(duration_s, 3),
    }


def finding_row(finding: Finding) -> dict[str, Any]:
    """One finding as the contract has it; `blind` marks a skip that keeps the verdict at refuse."""
    row: dict[str, Any] = {"id": finding.id, "status": finding.status.value}
    row |= {key: getattr(finding, key) for key in TEXTS}
    return row | {"acceptable": finding.acceptable, "blind": finding.blind}


def _memory(pools: list[MemoryPool]) -> dict[str, Any]:
    """The deciding pool at the top; with a card of its own, the host's memory beside it."""
    first, *others = pools
    return _pool_row(first) | {"others": [_pool_row(pool) for pool in others]}


def _term_row(term: Term) -> dict[str, Any]:
    return {
        "name": term.name,
        "pool": term.pool,
        "bytes": term.bytes,
        "first": term.first.value,
        "last": term.last.value,
        "source": term.source,
    }


def _pool_row(pool: MemoryPool) -> dict[str, Any]:
    return {
        "pool": pool.name,
        "available_bytes": pool.available_bytes,
        "required_bytes": pool.required_bytes,
        "phases": [{"name": peak.phase.value, "peak_bytes": peak.bytes, "source": peak.source} for peak in pool.peaks],
    }

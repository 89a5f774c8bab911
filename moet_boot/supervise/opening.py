"""The first page of a receipt: what was asked, what was judged, what will be started."""

import hashlib
import os
import platform
import sys
from dataclasses import asdict

from moet_boot import __version__
from moet_boot.machine.anonymous import anonymous
from moet_boot.preflight.document import finding_row
from moet_boot.preflight.prepare import Prepared
from moet_boot.profile.model import GuardFloors, Profile
from moet_boot.receipts.model import PlanRecord, Receipt, Versions
from moet_boot.receipts.redact import redact_argv, redact_env
from moet_boot.supervise.journal import now_iso
from moet_boot.supervise.status import process_start


def open_receipt(receipt_id: str, prepared: Prepared) -> Receipt:
    """The receipt of a boot that is about to start, or was refused. Secrets are redacted."""
    snapshot, verdict = anonymous(prepared.snapshot), prepared.verdict
    return Receipt(
        id=receipt_id,
        created_at=now_iso(),
        supervisor_pid=os.getpid(),
        supervisor_start=process_start(os.getpid()),
        profile=prepared.profile.name,
        variant=prepared.profile.variant,
        profile_digest=profile_digest(prepared.resolved),
        overrides=redact_argv(prepared.request.sets),
        accepted_risks=list(verdict.accepted),
        versions=Versions(
            moet_boot=__version__,
            python=sys.version.split()[0],
            kernel=platform.release(),
            driver=snapshot.nvml.driver if snapshot.nvml else None,
            engine=snapshot.engine.version if snapshot.engine else None,
        ),
        plan=plan_record(prepared),
        verdict=verdict.level.value,
        findings=[finding_row(f) for f in verdict.findings],
        forecast=[
            {"name": p.phase.value, "host_bytes": p.host_bytes, "gpu_bytes": p.gpu_bytes, "source": p.source}
            for p in prepared.forecast.phases
        ],
        snapshot=snapshot.model_dump(mode="json", by_alias=True, exclude_none=True),
        artefacts=[f.model_dump(mode="json", exclude_none=True) for f in snapshot.files or []],
        floors=floors_shown(prepared.profile.guard),
    )


def plan_record(prepared: Prepared) -> PlanRecord:
    """The plan as a receipt shows it."""
    plan = prepared.plan
    return PlanRecord(
        digest=plan.digest,
        runtime=plan.runtime,
        argv=redact_argv(plan.argv),
        env=redact_env(plan.env),
        mounts=[asdict(m) for m in plan.mounts],
        url=plan.url,
        container=asdict(plan.container) if plan.container else None,
    )


def floors_shown(guard: GuardFloors) -> dict[str, float]:
    """The floors that a curve shows, in GiB."""
    return {"kill floor in boot": guard.hard_floor_gib, "kill floor serving": guard.serving_floor_gib}


def profile_digest(profile: Profile) -> str:
    """sha256 of the resolved profile in canonical JSON."""
    return hashlib.sha256(profile.model_dump_json(by_alias=True).encode()).hexdigest()

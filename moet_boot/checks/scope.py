"""For which cases a family of checks has a meaning."""

from moet_boot.checks.finding import Scope
from moet_boot.profile.model import ArtefactKind, MemoryKind


def _has(kind: ArtefactKind) -> Scope:
    words = kind.value.replace("_", " ")
    return Scope(
        lambda case: any(artefact.kind is kind for artefact in case.profile.artefacts.values()),
        f"the profile has no {words}",
    )


UNIFIED = Scope(
    lambda case: case.profile.hardware.memory is MemoryKind.UNIFIED,
    "GPU and host do not share their memory here",
)
GPU = Scope(lambda case: case.profile.hardware.gpu is not None, "the profile needs no GPU")
GPU_ANSWERS = Scope(
    lambda case: GPU.test(case) and not (case.snapshot.nvml and case.snapshot.nvml.init != "OK"),
    "the profile needs no GPU, or none answers (GPU.PRESENT)",
)
IMAGE_ON_GPU = Scope(
    lambda case: GPU_ANSWERS.test(case) and case.plan.runtime == "docker",
    "no image is started on a GPU that answers",
)
OWN_MEMORY = Scope(
    lambda case: GPU_ANSWERS.test(case) and case.profile.hardware.memory is MemoryKind.DISCRETE,
    "no GPU with memory of its own: where GPU and host share one pool, MEM.AVAILABLE judges it",
)
STAGING = Scope(
    lambda case: case.forecast.staging is not None,
    "no experts are staged in host RAM: the plan has no 2-bit loader path that moet-boot knows",
)
DOCKER = Scope(lambda case: case.plan.runtime == "docker", "the plan starts a process, no container")
PROCESS = Scope(lambda case: case.plan.runtime == "process", "the plan starts a container")
CHECKPOINT = _has(ArtefactKind.CHECKPOINT)
PLANE_FILE = _has(ArtefactKind.PLANE_FILE)
PACK_STORE = _has(ArtefactKind.PACK_STORE)

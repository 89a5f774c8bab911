"""Which cards a boot will use: the container's devices first, then CUDA_VISIBLE_DEVICES within them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from moet_boot.launch.plan import LaunchPlan
from moet_boot.machine.snapshot import Gpu, Snapshot
from moet_boot.profile.model import Profile

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class GpuChoice:
    """The cards that the server will see, by NVML index, and who decided.

    `unclear` is set when devices are named in a way that an index cannot be read from (UUIDs), `narrowed` when
    somebody named the cards.
    """

    indices: tuple[int, ...]
    decided_by: str
    unclear: bool = False
    narrowed: bool = False


def with_chosen_device(profile: Profile, plan: LaunchPlan, snapshot: Snapshot, *, recorded: bool) -> LaunchPlan:
    """The plan with the card that this machine's user asked for, unless `--set gpus=` or a config file named one.

    A container does not inherit the environment: CUDA_VISIBLE_DEVICES of the caller becomes its devices. In a
    recorded snapshot the container's own options say more; on a live machine they are those of an earlier run.
    """
    container = plan.container
    if container is None or not container.gpus or "container.gpus" in profile.chosen:
        return plan
    run = snapshot.docker.run if snapshot.docker and recorded else None
    wished = run.gpus if run and run.gpus and _devices(run.gpus) is not None else _wish(snapshot)
    return plan if wished is None else replace(plan, container=replace(container, gpus=wished))


def chosen_gpus(plan: LaunchPlan, snapshot: Snapshot) -> GpuChoice:
    """The cards of a plan on a machine; every card when nothing narrows them."""
    found = tuple(gpu.index for gpu in snapshot.nvml.gpus) if snapshot.nvml else ()
    if plan.container is not None:
        return _in_container(plan, found)
    env = {**(snapshot.env or {}), **plan.env}
    return _visible(env, found, GpuChoice(found, "every card of the machine"))


def used_gpus(plan: LaunchPlan, snapshot: Snapshot, count: int) -> list[Gpu]:
    """The first `count` cards that the server will see, as NVML describes them."""
    by_index = {gpu.index: gpu for gpu in snapshot.nvml.gpus} if snapshot.nvml else {}
    choice = chosen_gpus(plan, snapshot)
    return [by_index[index] for index in choice.indices[:count] if index in by_index]


def _wish(snapshot: Snapshot) -> str | None:
    devices = _split((snapshot.env or {}).get(VISIBLE, ""))
    return f"device={','.join(devices)}" if devices and all(device.isdigit() for device in devices) else None


def _in_container(plan: LaunchPlan, found: tuple[int, ...]) -> GpuChoice:
    gpus = plan.container.gpus if plan.container else None
    if not gpus:
        return GpuChoice((), "the container gets no GPU")
    devices = _devices(gpus)
    whole = GpuChoice(found, "the container gets all cards")
    if devices is not None:
        whole = _narrowed(devices, found, f"the container gets {gpus}")
    return _visible(plan.env, whole.indices, whole)


def _visible(env: Mapping[str, str], within: tuple[int, ...], otherwise: GpuChoice) -> GpuChoice:
    wanted = env.get(VISIBLE)
    if wanted is None:
        return otherwise
    inside = _narrowed(_split(wanted), tuple(range(len(within))), f"{VISIBLE}={wanted}")
    # inside a container the numbers count the cards that it was given
    return replace(inside, indices=tuple(within[i] if i < len(within) else i for i in inside.indices))


def _narrowed(devices: list[str], found: tuple[int, ...], decided_by: str) -> GpuChoice:
    if any(not device.lstrip("-").isdigit() for device in devices):
        return GpuChoice(found, decided_by, unclear=True)
    indices: list[int] = []
    for device in devices:
        if int(device) < 0:
            break  # CUDA stops reading at the first number that is no device
        indices.append(int(device))
    return GpuChoice(tuple(indices), decided_by, narrowed=True)


def _devices(gpus: str) -> list[str] | None:
    """The devices of docker's `--gpus` value (`device=0,1`, quoted or not); None for `all` and for a count."""
    text = gpus.strip().strip("'\"")
    return _split(text.removeprefix("device=").strip("'\"")) if text.startswith("device=") else None


def _split(devices: str) -> list[str]:
    return [device.strip() for device in devices.split(",") if device.strip()]

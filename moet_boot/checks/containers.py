"""The container runtime: DOCKER.ENGINE, DOCKER.IMAGE, DOCKER.GPU, DOCKER.NAME."""

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, skip, unseen, warn
from moet_boot.checks.scope import DOCKER
from moet_boot.launch.plan import ContainerOptions
from moet_boot.machine.snapshot import Docker, DockerImage

MACHINE_ARCH = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "amd64", "amd64": "amd64"}
RESTARTS_ALONE = frozenset({"always", "unless-stopped", "on-failure"})


def _options(case: Case) -> ContainerOptions:
    if case.plan.container is None:
        raise ValueError("this plan starts no container")
    return case.plan.container


@check("DOCKER.ENGINE", "the container engine answers", needs=("docker",), scope=DOCKER)
def engine(case: Case) -> Answer:
    """A daemon that this user may talk to."""
    docker = case.snapshot.docker
    if docker is None:
        return unseen(case, "docker")
    if not docker.present:
        return refuse(
            f"no container engine: {docker.error or 'it does not answer'}",
            "a running Docker engine",
            why=f"profile {case.profile.name} starts a container",
            fix="install and start Docker, and let this user use it (group docker); pip install 'moet-boot[docker]'",
        )
    name = f"{docker.engine or 'docker'} {docker.server_version or ''}".strip()
    return _caveat(docker, name) or passed(name)


def _caveat(docker: Docker, name: str) -> Answer | None:
    if docker.direct_kill is False:
        return warn(
            f"{name}; this user may not signal the processes of its containers",
            "root, or a rootless engine of this user",
            why="the memory guard must then ask the engine to kill the server, and an engine can hang just then",
            fix="run moet-boot with sudo",
        )
    if docker.rootless:
        return warn(
            f"{name}, rootless",
            "a daemon with root",
            why="rootless engines need their own GPU set-up (no-cgroups), and host IPC and limits differ",
            fix="use the system's Docker, or check the GPU inside: docker run --rm --gpus all IMAGE nvidia-smi",
        )
    if docker.engine == "podman":
        return warn(
            f"{name}, by its Docker-compatible socket",
            "Docker",
            why="moet-boot has started and stopped servers on Docker only",
            fix="watch the first boot and the first stop, or use Docker",
            source="moet-boot's own tests",
        )
    return None


@check("DOCKER.IMAGE", "the image is there, the pinned one, and for this machine", needs=("docker",), scope=DOCKER)
def image(case: Case) -> Answer:
    """Present, of the machine's architecture, and the one that the profile pins, where it pins one."""
    docker, want = case.snapshot.docker, _options(case)
    if docker is None or not docker.present:
        return skip("no container engine to ask (DOCKER.ENGINE)")
    found = docker.image
    if found is None or not found.present:
        return _absent(want, found)
    machine = MACHINE_ARCH.get(case.snapshot.arch or "", want.image_arch)
    measured = f"{found.ref}, architecture {found.arch or 'unknown'}"
    arch = found.arch.removeprefix("linux/").split("/")[0] if found.arch else machine
    if MACHINE_ARCH.get(arch, arch) != machine:
        return refuse(
            measured,
            f"an image for {machine}",
            why="an image of another architecture ends in `exec format error`, or crawls in emulation",
            fix=f"pull or build it for linux/{machine}: docker pull --platform linux/{machine} {want.image}",
        )
    return _pinned(want, found, measured) or passed(measured, machine)


def _absent(want: ContainerOptions, found: DockerImage | None) -> Answer:
    name, _, digest = want.image.partition("@")
    others = f"; {name} here is {found.digests[0]}" if found and found.digests else ""
    pin = f", or pin what is here: --set image={name} --set image-digest={found.digests[0]}" if others and found else ""
    return refuse(
        f"no image {want.image} on this machine{others}",
        want.image,
        why=f"only the image of digest {digest} may be started" if others else "nothing can be started without it",
        fix=f"moet-boot serve --pull, docker pull {want.image}, or build it as its project says{pin}",
    )


def _pinned(want: ContainerOptions, found: DockerImage, measured: str) -> Answer | None:
    """What is to be said when it is not the pinned image, or None."""
    known = found.digests or ([found.digest] if found.digest else [])
    if want.image_digest is None or want.image_digest in known:
        return None
    pinned = f"{want.image.partition('@')[0]}@{want.image_digest}"
    if not known:
        return warn(
            f"{measured}; its digest is not recorded",
            want.image_digest,
            why="whether it is the image that the profile pins cannot be told from this snapshot",
            fix="judge it on the machine itself",
        )
    return refuse(
        f"{measured}, {known[0]}",
        want.image_digest,
        why="another build of the same name may need other memory, flags and formats than those that were judged",
        fix=f"fetch the pinned one (docker pull {pinned}) and ask for it (--set image={pinned}), "
        f"or pin the one that is here (--set image-digest={known[0]}), or none (--set image-digest=)",
        acceptable=False,
    )


@check("DOCKER.GPU", "containers get the GPU", needs=("docker",), scope=DOCKER)
def gpu(case: Case) -> Answer:
    """NVIDIA's runtime or CDI devices."""
    docker = case.snapshot.docker
    if not _options(case).gpus:
        return skip("the container asks for no GPU")
    if docker is None or not docker.present:
        return skip("no container engine to ask (DOCKER.ENGINE)")
    devices = [device for device in docker.cdi_devices if device.startswith("nvidia.com/gpu")]
    if docker.engine == "podman" and not devices:
        return refuse(
            "podman, and no nvidia.com/gpu CDI device",
            "CDI devices",
            why="podman hands out GPUs by their CDI names; its older releases pass over any other request in silence",
            fix="nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        )
    if "nvidia" in docker.runtimes or devices:
        return passed("runtime nvidia" if "nvidia" in docker.runtimes else f"CDI: {', '.join(devices)}")
    return refuse(
        f"runtimes {', '.join(docker.runtimes) or 'unknown'}; no nvidia.com/gpu CDI device",
        "runtime nvidia, or CDI devices",
        why="the engine cannot hand a GPU to the container: it would fail at its start",
        fix="install nvidia-container-toolkit, then: nvidia-ctk runtime configure --runtime=docker and restart docker",
    )


@check("DOCKER.NAME", "the container's name is free", needs=("docker",), scope=DOCKER)
def name(case: Case) -> Answer:
    """A container of that name, and one that restarts by itself."""
    docker, want = case.snapshot.docker, _options(case)
    if docker is None or not docker.present:
        return skip("no container engine to ask (DOCKER.ENGINE)")
    same = next((c for c in docker.containers if c.name == want.name), None)
    if same is not None and same.orphan and same.state == "running":
        return warn(
            f"container {want.name} runs without the moet-boot that started it",
            "no container of that name",
            why="nobody guards it, and it holds the memory and the port that the new server needs",
            fix="moet-boot serve ends it first, and so does moet-boot stop",
        )
    if same is not None and (same.state == "running" or not same.ours):
        return refuse(
            f"container {want.name} exists ({same.state}{'' if same.ours else ', not made by moet-boot'})",
            "no container of that name",
            why="two servers of one profile would fight for memory and port",
            fix="moet-boot stop" if same.ours else f"docker rm {want.name} if it may go",
        )
    if docker.run is not None and docker.run.restart in RESTARTS_ALONE:
        return warn(
            f"restart policy {docker.run.restart}",
            "restart policy no",
            why="a boot that fails is started again and again, each time with less memory: that takes the machine down",
            fix="docker update --restart no NAME; moet-boot restarts by itself, within its budget",
            source="field notes on unified memory, section 7",
        )
    return passed(f"{want.name} is free" if same is None else f"{want.name} has ended and is ours")


CHECKS: tuple[Check, ...] = (engine, image, gpu, name)

"""The `docker run` line that starts the same container by hand. Pure."""

import csv
import io
from collections.abc import Iterator

from moet_boot.launch.container_request import ContainerRequest
from moet_boot.launch.gpu_request import GpuRequest
from moet_boot.launch.plan import PlannedMount
from moet_boot.launch.shell_words import shell_line


def docker_run_line(request: ContainerRequest) -> str:
    """One line for a shell; every option stands in it, the engine's defaults too where moet-boot relies on them."""
    return shell_line(docker_run_arguments(request))


def docker_run_arguments(request: ContainerRequest) -> list[str]:
    """The same as an argument list, `docker` first."""
    return ["docker", "run", "--detach", *_options(request), request.image, *request.command]


def _options(request: ContainerRequest) -> Iterator[str]:
    yield from ("--name", request.name, "--restart", request.restart)
    yield from ("--network", request.network, "--ipc", request.ipc)
    for port in request.ports:
        yield from ("--publish", f"127.0.0.1:{port}:{port}/tcp")
    if request.shm_bytes is not None:
        yield from ("--shm-size", str(request.shm_bytes))
    yield from _gpus(request.gpus)
    yield from _limits(request)
    for mount in request.mounts:
        yield from ("--mount", _mount(mount))
    for name, value in request.env.items():
        yield from ("--env", f"{name}={value}")
    for name, value in request.labels.items():
        yield from ("--label", f"{name}={value}")
    if request.entrypoint is not None:
        yield from ("--entrypoint", request.entrypoint)


def _limits(request: ContainerRequest) -> Iterator[str]:
    for option in request.security:
        yield from ("--security-opt", option)
    yield from ("--oom-score-adj", str(request.oom_score_adj))
    yield from ("--ulimit", f"core={request.core_bytes}:{request.core_bytes}")
    yield from ("--log-driver", request.log_driver)
    for name, value in request.log_options.items():
        yield from ("--log-opt", f"{name}={value}")


def _gpus(gpus: GpuRequest | None) -> Iterator[str]:
    if gpus is None:
        return
    if gpus.cdi:
        for name in gpus.cdi_names:
            yield from ("--device", name)
    else:
        # the value is a line of CSV, in which a comma would begin the next option
        yield from ("--gpus", _csv_line(f"device={','.join(gpus.ids)}") if gpus.ids else "all")


def _mount(mount: PlannedMount) -> str:
    """`--mount`, because `--volume` would make a missing source as an empty folder of root."""
    fields = ["type=bind", f"source={mount.source}", f"target={mount.target}"]
    return _csv_line(*fields, *(["readonly"] if mount.read_only else []))


def _csv_line(*fields: str) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()

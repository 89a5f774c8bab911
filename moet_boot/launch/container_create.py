"""A container request in the words of the Docker SDK. The SDK is imported only when it is used."""

from typing import Any

from moet_boot.launch.container_request import ContainerRequest
from moet_boot.launch.gpu_request import GpuRequest

GPU_CAPABILITY = "gpu"


def create_arguments(request: ContainerRequest) -> dict[str, Any]:
    """Keyword arguments of `DockerClient.containers.create`; what is not here stays as image and engine have it."""
    from docker.types import LogConfig, Mount, Ulimit  # noqa: PLC0415  (an extra, and slow to import)

    arguments: dict[str, Any] = {
        "image": request.image,
        "name": request.name,
        "command": list(request.command) or None,
        "environment": dict(request.env),
        "mounts": [Mount(m.target, m.source, type="bind", read_only=m.read_only) for m in request.mounts],
        "labels": dict(request.labels),
        "network_mode": request.network,
        "ipc_mode": request.ipc,
        "restart_policy": {"Name": request.restart},
        "security_opt": list(request.security),
        "oom_score_adj": request.oom_score_adj,
        "ulimits": [Ulimit(name="core", soft=request.core_bytes, hard=request.core_bytes)],
        "log_config": LogConfig(type=request.log_driver, config=dict(request.log_options)),
        "detach": True,
    }
    optional = {
        "entrypoint": [request.entrypoint] if request.entrypoint is not None else None,
        "shm_size": request.shm_bytes,
        "device_requests": [_device_request(request.gpus)] if request.gpus else None,
        "ports": {f"{port}/tcp": ("127.0.0.1", port) for port in request.ports} or None,
    }
    return arguments | {name: value for name, value in optional.items() if value is not None}


def _device_request(gpus: GpuRequest) -> Any:
    from docker.types import DeviceRequest  # noqa: PLC0415

    if gpus.cdi:
        return DeviceRequest(driver="cdi", device_ids=list(gpus.cdi_names))
    if gpus.ids:
        return DeviceRequest(device_ids=list(gpus.ids), capabilities=[[GPU_CAPABILITY]])
    return DeviceRequest(count=-1, capabilities=[[GPU_CAPABILITY]])

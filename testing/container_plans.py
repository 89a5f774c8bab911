"""Plans of containers for tests, small enough to be read."""

from dataclasses import replace
from typing import Any

from moet_boot.launch.plan import ContainerOptions, LaunchPlan, PlannedMount

OPTIONS = ContainerOptions(
    image="vllm-moet-test:1",
    image_arch="amd64",
    name="moet-boot-test",
    gpus=None,
    network="host",
    ipc="host",
    shm_bytes=None,
    entrypoint=None,
)


def container_plan(
    *argv: str,
    env: dict[str, str] | None = None,
    mounts: tuple[PlannedMount, ...] = (),
    host: str = "127.0.0.1",
    port: int = 8123,
    **options: Any,
) -> LaunchPlan:
    """A plan for one container; `options` replace those of `OPTIONS`."""
    return LaunchPlan(
        profile="test",
        variant=None,
        runtime="docker",
        argv=argv,
        env=env or {},
        mounts=mounts,
        paths={},
        model="/model",
        served_name="tiny",
        host=host,
        port=port,
        container=replace(OPTIONS, **options),
    )

"""A small reader of `docker run` lines: from the flags to the body that the docker client would send.

It knows the flags that moet-boot writes and refuses every other, so that a new one cannot pass unread.
"""

import csv
import shlex
from dataclasses import dataclass, field
from typing import Any

SWITCHES = {"--detach"}
FLAGS = {
    "--name", "--restart", "--network", "--ipc", "--publish", "--shm-size", "--gpus", "--device", "--security-opt",
    "--oom-score-adj", "--ulimit", "--log-driver", "--log-opt", "--mount", "--env", "--label", "--entrypoint",
}  # fmt: skip


@dataclass
class RunLine:
    """The flags of a line, each with all its values, then image and arguments."""

    flags: dict[str, list[str]] = field(default_factory=dict)
    image: str = ""
    arguments: list[str] = field(default_factory=list)

    def one(self, flag: str) -> str | None:
        """The value of a flag that may stand there once."""
        values = self.flags.get(flag, [])
        if len(values) > 1:
            raise AssertionError(f"{flag} stands there {len(values)} times")
        return values[0] if values else None

    def all(self, flag: str) -> list[str]:
        """The values of a flag that may be repeated."""
        return self.flags.get(flag, [])


def read_words(words: list[str]) -> RunLine:
    """The parts of a command, as the docker client takes it."""
    if words[:2] != ["docker", "run"]:
        raise AssertionError(f"no docker run line: {words[:2]}")
    found = RunLine()
    rest = iter(words[2:])
    for word in rest:
        if word in SWITCHES:
            found.flags[word] = [""]
        elif word in FLAGS:
            found.flags.setdefault(word, []).append(next(rest))
        elif word.startswith("-"):
            raise AssertionError(f"a flag that this reader does not know: {word}")
        else:
            found.image = word
            found.arguments = list(rest)
    return found


def body_of(line: str) -> dict[str, Any]:
    """What the docker client would send to `POST /containers/create` for this line, split as a shell splits it."""
    return body_of_words(shlex.split(line))


def body_of_words(words: list[str]) -> dict[str, Any]:
    """What the docker client would send to `POST /containers/create` for this command; empty values left out."""
    run = read_words(words)
    ports = [publish.split(":") for publish in run.all("--publish")]
    host = {
        "Mounts": [_mount(value) for value in run.all("--mount")],
        "NetworkMode": run.one("--network"),
        "IpcMode": run.one("--ipc"),
        "ShmSize": int(run.one("--shm-size") or 0),
        "DeviceRequests": _device_requests(run),
        "RestartPolicy": {"Name": run.one("--restart")},
        "SecurityOpt": run.all("--security-opt"),
        "OomScoreAdj": int(run.one("--oom-score-adj") or 0),
        "Ulimits": [_ulimit(value) for value in run.all("--ulimit")],
        "LogConfig": {"Type": run.one("--log-driver"), "Config": _pairs(run.all("--log-opt"))},
        "PortBindings": {port: [{"HostIp": ip, "HostPort": outside}] for ip, outside, port in ports},
    }
    body: dict[str, Any] = {
        "Image": run.image,
        "Cmd": run.arguments,
        "Entrypoint": [run.one("--entrypoint")] if run.one("--entrypoint") else None,
        "Env": sorted(run.all("--env")),
        "Labels": _pairs(run.all("--label")),
        "ExposedPorts": {port: {} for _, _, port in ports},
        "HostConfig": {name: value for name, value in host.items() if value not in (None, [], {}, 0)},
    }
    return {name: value for name, value in body.items() if value not in (None, [], {})}


def _mount(value: str) -> dict[str, Any]:
    (fields,) = csv.reader([value])
    pairs = dict(f.partition("=")[::2] for f in fields)
    return {
        "Type": pairs["type"],
        "Source": pairs["source"],
        "Target": pairs["target"],
        "ReadOnly": "readonly" in pairs,
    }


def _device_requests(run: RunLine) -> list[dict[str, Any]]:
    requests = []
    gpus = run.one("--gpus")
    if gpus == "all":
        requests.append(_request(Count=-1, Capabilities=[["gpu"]]))
    elif gpus:
        ((option,),) = csv.reader([gpus])
        name, _, ids = option.partition("=")
        assert name == "device"
        requests.append(_request(DeviceIDs=ids.split(","), Capabilities=[["gpu"]]))
    if run.all("--device"):
        requests.append(_request(Driver="cdi", DeviceIDs=run.all("--device")))
    return requests


def _request(**given: Any) -> dict[str, Any]:
    return {"Driver": "", "Count": 0, "DeviceIDs": [], "Capabilities": [], "Options": {}, **given}


def _ulimit(value: str) -> dict[str, Any]:
    name, _, limits = value.partition("=")
    soft, _, hard = limits.partition(":")
    return {"Name": name, "Soft": int(soft), "Hard": int(hard)}


def _pairs(values: list[str]) -> dict[str, str]:
    return dict(value.partition("=")[::2] for value in values)

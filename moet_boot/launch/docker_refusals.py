"""What a container engine refuses, in words that say what to do. Pure.

The texts are those of Docker 20.10 (seen) and of the NVIDIA toolkit and later engines (read in their sources).
"""

import re

from moet_boot.errors import ArtefactMissingError, BusyError, MoetBootError, NotReadyError
from moet_boot.exits import Exit


def explain_refusal(doing: str, text: str, status: int | None = None) -> MoetBootError:
    """The error for what an engine answered when it refused."""
    for pattern, build in _REFUSALS:
        found = re.search(pattern, text, re.IGNORECASE)
        if found:
            return build(found, text)
    return MoetBootError(f"the container engine refused to {doing} ({status}): {text}")


def _name_taken(found: re.Match[str], text: str) -> MoetBootError:
    del text
    name = found[1].lstrip("/")
    return BusyError(
        f"a container named {name} exists already, and moet-boot did not create it",
        fix=f"remove or rename it: docker rm {name}",
    )


def _port_taken(found: re.Match[str], text: str) -> MoetBootError:
    del found
    return BusyError(f"the port is taken: {text}", fix="stop who listens there, or use --set port=N")


def _no_gpu(found: re.Match[str], text: str) -> MoetBootError:
    del found
    return MoetBootError(
        f"the container engine cannot give GPUs to a container: {text}",
        fix="install nvidia-container-toolkit, run `sudo nvidia-ctk runtime configure`, restart the engine",
        code=Exit.REFUSED,
    )


def _no_image(found: re.Match[str], text: str) -> MoetBootError:
    del found
    return ArtefactMissingError(
        f"the image is not here: {text}", fix="build or load it first, or let --pull fetch it (see the README)"
    )


def _no_registry(found: re.Match[str], text: str) -> MoetBootError:
    del found
    return MoetBootError(
        f"the image cannot be fetched: {text}",
        fix="check its name, the network and `docker login`, or bring the image along: docker save, docker load",
    )


def _no_source(found: re.Match[str], text: str) -> MoetBootError:
    del text
    return ArtefactMissingError(
        f"{found[1]} does not exist, and the container needs it mounted", fix="name the place with --path NAME=PATH"
    )


def _no_program(found: re.Match[str], text: str) -> MoetBootError:
    del found
    return NotReadyError(
        f"the image's first program cannot be started: {text}",
        fix="the image is not a server of this kind, or not built for this machine's architecture",
    )


_REFUSALS = (
    (r'container name "([^"]+)" is already in use', _name_taken),
    (r"could not select device driver|unresolvable CDI devices|unknown runtime.*nvidia|nvidia-container-cli", _no_gpu),
    (r"port is already allocated|address already in use", _port_taken),
    (r"bind source path does not exist: (.+)", _no_source),
    (r"no such image|pull access denied|manifest.*(?:unknown|not found)|no matching manifest", _no_image),
    (r"dial tcp|no such host|i/o timeout|TLS handshake|unauthorized|toomanyrequests", _no_registry),
    (r"runc create failed|exec format error|no command specified|OCI runtime", _no_program),
)

"""What engines refuse. `seen`: the words of Docker 20.10 on this project's test machines."""

import pytest

from moet_boot.errors import ArtefactMissingError, BusyError, MoetBootError, NotReadyError
from moet_boot.exits import Exit
from moet_boot.launch.docker_refusals import explain_refusal

SEEN_OCI = (
    "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
)


@pytest.mark.parametrize(
    ("text", "kind", "code", "words"),
    [
        (
            'Conflict. The container name "/moet-boot-spark" is already in use by container "65c8". You have to remove',
            BusyError, Exit.BUSY, "a container named moet-boot-spark exists",
        ),
        ('could not select device driver "" with capabilities: [[gpu]]', MoetBootError, Exit.REFUSED, "GPUs"),
        ('could not select device driver "cdi" with capabilities: []', MoetBootError, Exit.REFUSED, "GPUs"),
        (
            "error gathering device information: CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=9",
            MoetBootError, Exit.REFUSED, "nvidia.com/gpu=9",
        ),
        (
            SEEN_OCI + "error during container init: error running hook #0: nvidia-container-cli: initialization error",
            MoetBootError, Exit.REFUSED, "initialization error",
        ),
        (
            "driver failed programming external connectivity on endpoint x: Bind for 127.0.0.1:8010 failed: port is already allocated",
            BusyError, Exit.BUSY, "8010",
        ),
        (
            'invalid mount config for type "bind": bind source path does not exist: /data/my model',
            ArtefactMissingError, Exit.ARTEFACT_MISSING, "/data/my model does not exist",
        ),
        ("No such image: nope:1", ArtefactMissingError, Exit.ARTEFACT_MISSING, "nope:1"),
        ("pull access denied for nope, repository does not exist", ArtefactMissingError, Exit.ARTEFACT_MISSING, "nope"),
        (
            "no matching manifest for linux/arm64 in the manifest list entries",
            ArtefactMissingError, Exit.ARTEFACT_MISSING, "linux/arm64",
        ),
        (
            'Get "http://localhost:9/v2/": dial tcp 127.0.0.1:9: connect: connection refused',
            MoetBootError, Exit.FAILURE, "cannot be fetched",
        ),
        ("unauthorized: authentication required", MoetBootError, Exit.FAILURE, "cannot be fetched"),
        (
            SEEN_OCI + 'exec: "/nonexist": stat /nonexist: no such file or directory: unknown',
            NotReadyError, Exit.NOT_READY, "/nonexist",
        ),
        (SEEN_OCI + 'exec: "/etc/passwd": permission denied: unknown', NotReadyError, Exit.NOT_READY, "permission"),
        ("No command specified", NotReadyError, Exit.NOT_READY, "No command"),
        ("something that nobody foresaw", MoetBootError, Exit.FAILURE, "refused to create it (500)"),
    ],
    ids=[
        "name (seen)", "no GPU driver (seen)", "no CDI (seen)", "unknown CDI device", "driver trouble in the hook", "port",
        "mount source (seen)", "image (seen)", "pull denied", "no image for this architecture",
        "no registry (seen)", "no access", "no program (seen)",
        "program not executable (seen)", "no command (seen)", "anything else",
    ],
)  # fmt: skip
def test_each_refusal_has_its_error(text: str, kind: type[MoetBootError], code: Exit, words: str) -> None:
    error = explain_refusal("create it", text, 500)
    assert type(error) is kind
    assert error.code == code
    assert words in error.what
    assert error.fix or words == "refused to create it (500)"

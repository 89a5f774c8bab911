"""The server program: ENGINE.PRESENT, ENGINE.VERSION, ENGINE.FLAGS."""

import re

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, skip, unseen, warn
from moet_boot.checks.scope import DOCKER, PROCESS
from moet_boot.engine.flags import argument_faults
from moet_boot.profile.vllm_flags import catalogue_version

FIRST_UNIFIED = (0, 24)
"""The first release line that empties its cache while it loads into unified memory (unified-memory.md 3.3)."""
PROGRAM_WORDS = 3
"""`serve` is looked for in the first words: `vllm serve`, or an interpreter before it."""


@check("ENGINE.PRESENT", "the server program is there", needs=("engine",), scope=PROCESS)
def present(case: Case) -> Answer:
    """A program that this user may run; its version as its installation records it."""
    seen = case.snapshot.engine
    if seen is None:
        return unseen(case, "engine")
    if seen.path is None or not seen.executable:
        return refuse(
            f"{seen.command}: {seen.error or ('not executable' if seen.path else 'not found')}",
            "a program that this user may run",
            why=case.profile.engine.why,
            fix="install the engine (scripts/demo does for the demo), or name another: --engine PATH",
            source=case.profile.engine.source,
        )
    want = case.profile.engine.vllm_version
    measured = f"{seen.path}, version {seen.version or 'unknown'}"
    if want is None or seen.version is None or seen.version.split("+")[0] == want:
        return passed(measured)
    return warn(
        measured,
        f"version {want} (profile {case.profile.name})",
        why="flags, phases and memory were measured with the profile's version",
        fix="install that version, or watch the first boot",
        source=case.profile.engine.source,
    )


@check("ENGINE.VERSION", "the vLLM in the image", needs=("docker",), scope=DOCKER)
def image_version(case: Case) -> Answer:
    """The release line of the image's vLLM; older ones die while a GPU that shares the host's memory is filled."""
    image = case.snapshot.docker.image if case.snapshot.docker else None
    found = _line(image.vllm if image else None)
    want = _line(case.profile.engine.vllm_version)
    if image is None or found is None or want is None:
        return skip("the version in the image, or the one of the profile, is not known")
    measured, required = f"{image.ref} has vLLM {image.vllm}", f"vLLM {want[0]}.{want[1]} (profile {case.profile.name})"
    if found == want:
        return passed(measured, required)
    old = case.forecast.unified and found < FIRST_UNIFIED
    answer = refuse if old else warn
    return answer(
        measured,
        required,
        why="0.23 does not give memory back while it loads on a GPU that shares the host's: it died within 14 s, and"
        " its memory stayed pinned until a reboot"
        if old
        else "flags, phases and memory were measured with the profile's version",
        fix=f"use the profile's image: docker pull {case.plan.container.image}" if case.plan.container else "",
        source="field notes on unified memory, section 3" if old else case.profile.engine.source,
    )


def _line(version: str | None) -> tuple[int, int] | None:
    """The release line of a version, `(0, 24)`; None for text without one."""
    match = re.match(r"v?(\d+)\.(\d+)", version or "")
    return (int(match[1]), int(match[2])) if match else None


@check("ENGINE.FLAGS", "the engine accepts the arguments")
def flags(case: Case) -> Answer:
    """Every argument against the flags of vLLM, as its own parser would read them."""
    version = catalogue_version(case.profile.engine.vllm_version)
    faults = argument_faults(_arguments(case), version)
    problems = [*case.forecast.problems, *(fault.words for fault in faults)]
    if not problems:
        return passed(f"{len(_arguments(case))} arguments, read like vLLM {version} does")
    # an image may carry a fork that knows more flags than its release line
    same = case.plan.runtime == "process" and case.profile.engine.vllm_version == version
    exact = same or bool(case.forecast.problems)
    answer = refuse if exact else warn
    return answer(
        "; ".join(problems),
        "arguments that the engine can read",
        why="the engine ends with a usage error, after it has imported for 12 s"
        if exact
        else f"vLLM {version}, which moet-boot knows, would end with a usage error; this engine may be another",
        fix="correct the argument",
    )


def _arguments(case: Case) -> tuple[str, ...]:
    """What stands behind `vllm serve`, or behind an image's entrypoint; nothing of a program that we do not know."""
    argv = case.plan.argv
    if case.plan.runtime == "docker":
        return argv
    return argv[argv.index("serve") + 1 :] if "serve" in argv[:PROGRAM_WORDS] else ()


CHECKS: tuple[Check, ...] = (present, image_version, flags)

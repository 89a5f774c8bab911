"""The server program: ENGINE.PRESENT, ENGINE.FLAGS."""

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, unseen, warn
from moet_boot.checks.scope import PROCESS


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
            fix="install the engine (scripts/setup for the demo), or name another: --engine PATH",
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


@check("ENGINE.FLAGS", "the engine accepts the arguments")
def flags(case: Case) -> Answer:
    """Numbers and settings of the plan that nobody can read."""
    if case.forecast.problems:
        return refuse(
            "; ".join(case.forecast.problems),
            "arguments that the engine can read",
            why="the engine would end with a usage error, some of them only after it has imported for 12 s",
            fix="correct the argument",
        )
    return passed("every argument can be read")


CHECKS: tuple[Check, ...] = (present, flags)

"""What a person asked for, read from the words of a command line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from moet_boot.engine.argument_settings import settings_among
from moet_boot.errors import UsageError
from moet_boot.launch.chained_plan import Chain
from moet_boot.launch.plan import Runtime
from moet_boot.profile.nearest import did_you_mean


class Verify(StrEnum):
    """How many slots of a plane file are read before the start."""

    QUICK = "quick"
    SAMPLE = "sample"
    FULL = "full"
    """Every slot, or the record of having done so while the file is unchanged."""
    FRESH = "fresh"
    """Every slot, whatever is on record."""
    NONE = "none"


@dataclass(frozen=True)
class Request:
    """What a person asked for. `paths`: artefact name -> path on the host.

    `extra`: arguments that only the server understands; those that are settings are among `sets`.
    `chain`: what the image starts, when the boot happens inside its container.
    """

    profile: str
    variant: str | None = None
    sets: tuple[str, ...] = ()
    snapshot: Path | None = None
    dry_run: bool = False
    verify: Verify = Verify.QUICK
    accepted: tuple[str, ...] = ()
    runtime: Runtime | None = None
    engine: str | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    chain: Chain | None = None


def read_request(
    profile: str,
    *,
    variant: str | None = None,
    sets: Iterable[str] = (),
    snapshot: Path | None = None,
    verify: str = "quick",
    dry_run: bool = False,
    accepted: Iterable[str] = (),
    paths: Iterable[str] = (),
    runtime: str | None = None,
    engine: str | None = None,
    extra: Iterable[str] = (),
) -> Request:
    """A request of the options that `preflight` and `serve` have in common; of `extra`, what is a setting is judged.

    Raises UsageError for a word that is none of its choices and for a path that is no NAME=PATH.
    """
    spoken = settings_among(tuple(extra))
    return Request(
        profile=profile,
        variant=variant,
        sets=(*sets, *spoken.settings),
        snapshot=snapshot,
        dry_run=dry_run,
        verify=Verify(_choice("--verify", verify, list(Verify))),
        accepted=tuple(accepted),
        runtime=_runtime(runtime),
        engine=engine,
        paths=named_paths(paths),
        extra=spoken.rest,
    )


def _choice(option: str, word: str, known: list[str]) -> str:
    if word not in known:
        hint = did_you_mean(word, known, f"choose one of {', '.join(known)}")
        raise UsageError(f"{option} {word}: expected {', '.join(known)}", fix=hint)
    return word


def _runtime(word: str | None) -> Runtime | None:
    if word is None:
        return None
    return "docker" if _choice("--runtime", word, ["process", "docker"]) == "docker" else "process"


def named_paths(texts: Iterable[str]) -> dict[str, str]:
    """Artefact name -> path, from NAME=PATH as it is typed behind `--path`. Raises UsageError for anything else."""
    return dict(_named_path(text) for text in texts)


def _named_path(text: str) -> tuple[str, str]:
    name, sign, path = text.partition("=")
    if not (sign and name and path):
        raise UsageError(f"--path {text}: expected NAME=PATH", fix="for example --path checkpoint=/data/model")
    return name, path

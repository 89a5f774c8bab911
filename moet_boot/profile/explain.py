"""Every decision of a resolved profile with its reason: what, why, on whose word, measured, which layer set it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from moet_boot.errors import UsageError
from moet_boot.profile.assignment import words, words_of
from moet_boot.profile.model import Profile, Reasoned, Setting
from moet_boot.profile.nearest import did_you_mean

_REASONS = ("why", "source", "measured")


@dataclass(frozen=True)
class Explained:
    """One decision. `value` is in words; `overrides` are the losers, `layer=value`, nearest first.

    `replaced_why` is the profile's reason for its own value, where a layer above replaced it.
    """

    key: str
    value: str
    why: str
    source: str
    measured: str | None
    layer: str
    overrides: tuple[str, ...] = ()
    replaced_why: str | None = None

    @property
    def section(self) -> str:
        """The table of the profile that it stands in."""
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """Its key inside that table."""
        return self.key.partition(".")[2] or self.key


def explain(profile: Profile, key: str | None = None) -> list[Explained]:
    """All decisions in the profile's order, or those that `key` names.

    A key is a setting's name (`VLLM_MOE_W2`, `max_num_seqs`), a dotted key (`memory.terms.planes`), a table
    (`guard`), or, when it is none of these, a part of a name (`delta`). Raises UsageError for one that the
    profile does not have, with the nearest that it has.
    """
    everything = [decision for name in Profile.model_fields for decision in _decisions(profile, name)]
    if key is None:
        return everything
    found = [decision for decision in everything if _matches(decision, key)]
    found = found or [decision for decision in everything if _plain(key) in _plain(decision.name)]
    if not found or not key.strip("-_. "):
        known = [d.key for d in everything] + [d.name for d in everything] + [d.section for d in everything]
        raise UsageError(
            f"profile {profile.name} decides nothing about {key!r}",
            fix=did_you_mean(key, known, f"`moet-boot profiles explain {profile.name}` lists what it decides"),
        )
    return found


def _matches(decision: Explained, key: str) -> bool:
    wanted = _plain(key)
    return wanted in {_plain(decision.key), _plain(decision.name)} or _plain(decision.key).startswith(f"{wanted}.")


def _plain(key: str) -> str:
    return key.lstrip("-").replace("_", "-").replace(".--", ".").lower()


def _decisions(profile: Profile, field: str) -> Iterator[Explained]:
    yield from _walk(profile, field, getattr(profile, field))


def _walk(profile: Profile, key: str, value: object) -> Iterator[Explained]:
    if isinstance(value, Setting):
        yield Explained(
            key, words(value), value.why, value.source, value.measured, value.layer, value.overrides, value.replaced_why
        )
    elif isinstance(value, Reasoned):
        yield _reasoned(profile, key, value)
        for name in type(value).model_fields:
            inner = getattr(value, name)
            if isinstance(inner, BaseModel | Mapping):
                yield from _walk(profile, f"{key}.{name}", inner)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _walk(profile, f"{key}.{name}", inner)


def _reasoned(profile: Profile, key: str, value: Reasoned) -> Explained:
    """A table with one reason for all of its values."""
    parts = [
        f"{name}={_short(getattr(value, name))}"
        for name in type(value).model_fields
        if name not in _REASONS and not _is_table(getattr(value, name)) and getattr(value, name) not in (None, ())
    ]
    moved = {k: c for k, c in profile.chosen.items() if k.startswith(f"{key}.")}
    layer = next((c.layer for c in moved.values()), "profile")
    losers = tuple(f"{k.removeprefix(f'{key}.')}: {loser}" for k, c in moved.items() for loser in c.overrides)
    return Explained(key, ", ".join(parts), value.why, value.source, value.measured, layer, losers)


def _is_table(value: object) -> bool:
    return isinstance(value, BaseModel | Mapping)


def _short(value: object) -> str:
    if isinstance(value, tuple):
        separator = ":" if value and not isinstance(value[0], tuple | str) else " "
        return separator.join(_short(item) for item in value)
    return words_of(value) if isinstance(value, str | int | float | bool) else str(value)

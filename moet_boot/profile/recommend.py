"""Which profile and variant for so many streams and so much context, from the published tables alone. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from moet_boot.errors import UsageError
from moet_boot.phases import Phase
from moet_boot.profile.fit import MachineFacts, fit
from moet_boot.profile.interpolate import Reading, read_curve
from moet_boot.profile.load import PLAIN, load_profile
from moet_boot.profile.model import MemoryKind, Profile
from moet_boot.profile.rules.facts import read_facts
from moet_boot.profile.rules.serving import CAPACITY_BARE, CAPACITY_POOL, RETRIEVAL_BARE, RETRIEVAL_POOL
from moet_boot.units import format_bytes, from_gib

PUBLISHED = ("rtx6000-b", "rtx6000-a", "spark")
"""Profiles with published speeds."""


@dataclass(frozen=True)
class Option:
    """One profile and variant with its published speed for the number of streams.

    `as_published`: its own context window is enough; else `sets` has what must be set for this load.
    `reliable`: retrieval was measured reliable at this context.
    """

    profile: Profile
    speed: Reading
    as_published: bool
    reliable: bool
    sets: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Such as `rtx6000-b/mtp`."""
        return f"{self.profile.name}/{self.profile.variant or PLAIN}"

    @property
    def arguments(self) -> tuple[str, ...]:
        """What goes after `moet-boot preflight` or `moet-boot serve`."""
        variant = ("--variant", self.profile.variant) if self.profile.variant else ()
        sets = (word for item in self.sets for word in ("--set", item))
        return ("--profile", self.profile.name, *variant, *sets)


@dataclass(frozen=True)
class Recommendation:
    """The choice, the other options (the better first), and what to know about the choice."""

    streams: int
    context: int
    choice: Option
    others: tuple[Option, ...]
    because: str
    warnings: tuple[str, ...]


def published_profiles() -> list[Profile]:
    """Every shipped profile and variant that has a published speed."""
    plain = [load_profile(name) for name in PUBLISHED]
    return [*plain, *(load_profile(p.name, variant) for p in plain for variant in p.variants)]


def recommend(
    streams: int, context: int, profiles: Sequence[Profile], machine: MachineFacts | None = None
) -> Recommendation:
    """The published configuration for `streams` at once with `context` tokens each.

    What was measured at this context comes first, then what finds its needles there, then the fastest. Without
    `machine` the answer is for an RTX PRO 6000. Raises UsageError for numbers below 1, for more context than
    any configuration booted with, and for a machine that none of them is for.
    """
    for flag, number in (("--streams", streams), ("--context", context)):
        if number < 1:
            raise UsageError(f"{flag} is {number}, expected at least 1", fix=f"such as {flag} 64")
    fitting = _for_machine(profiles, machine)
    options = [option for p in fitting if (option := _option(p, streams, context)) is not None]
    if not options:
        raise UsageError(
            f"no published configuration for this hardware boots with {context:,} tokens of context",
            fix=f"the most is {max(_capacity(p) for p in fitting):,}",
        )
    able = [option for option in options if streams <= _seqs(option.profile)] or options
    able.sort(key=lambda o: (o.as_published, o.reliable, o.speed.value), reverse=True)
    choice, others = able[0], tuple(able[1:])
    because = _because(choice, others)
    return Recommendation(streams, context, choice, others, because, tuple(_warnings(choice, streams, context)))


def _for_machine(profiles: Sequence[Profile], machine: MachineFacts | None) -> list[Profile]:
    if machine is None:
        return [p for p in profiles if p.hardware.memory is MemoryKind.DISCRETE]
    fitting = [p for p in profiles if fit(p, machine).fits]
    if fitting:
        return fitting
    against = {p.name: "; ".join(fit(p, machine).against) for p in profiles}
    raise UsageError(
        "no published configuration is for this machine: " + ", ".join(f"{n} {why}" for n, why in against.items()),
        fix="leave --snapshot out to ask for an RTX PRO 6000",
    )


def _option(profile: Profile, streams: int, context: int) -> Option | None:
    """The profile under this load, or None when it never booted with so much context."""
    speed = read_curve(profile.curves["throughput"], streams)
    if speed is None or context > _capacity(profile):
        return None
    enough = context <= _window(profile)
    sets = () if enough else (f"max-model-len={context}",)
    return Option(profile, speed, enough, context <= _reliable(profile), sets)


def _seqs(profile: Profile) -> int:
    """Sequences at once; an image that decides by itself was measured with one, and queues the rest."""
    value = profile.flag("--max-num-seqs")
    return value if isinstance(value, int) else 1


def _window(profile: Profile) -> int:
    """Tokens of context as the profile is published."""
    value = profile.flag("--max-model-len")
    measured = profile.acceptance.get("context_tokens")
    return value if isinstance(value, int) else int(measured.value) if measured else 0


def _capacity(profile: Profile) -> int:
    if profile.hardware.memory is MemoryKind.UNIFIED:
        return _window(profile)
    return CAPACITY_POOL if read_facts(profile).pool_gib else CAPACITY_BARE


def _reliable(profile: Profile) -> int:
    if profile.hardware.memory is MemoryKind.UNIFIED:
        return _window(profile)
    return RETRIEVAL_POOL if read_facts(profile).pool_gib else RETRIEVAL_BARE


def _because(choice: Option, others: Sequence[Option]) -> str:
    """The figure that decided: against the next best of the same standing, or the standing itself."""
    said = f"{choice.name}: {_speed(choice)}"
    if not others:
        return f"{said}; nothing else that was published carries this load"
    rival = others[0]
    if rival.as_published != choice.as_published:
        return f"{said}; it is published with a window of {_window(choice.profile):,} tokens, {rival.name} is not"
    if rival.reliable != choice.reliable:
        return f"{said}; it finds more of what stands that far back than {rival.name}"
    return f"{said} against {rival.name}: {_speed(rival)}"


def _speed(option: Option) -> str:
    return option.speed.words(option.profile.curves["throughput"].y_unit)


def _warnings(choice: Option, streams: int, context: int) -> list[str]:
    profile = choice.profile
    found = []
    if choice.speed.basis == "beyond":
        found.append(f"{streams} streams are more than were measured: what does not fit waits in the queue")
    if context > RETRIEVAL_POOL:
        found.append(_retrieval_warning(profile, context))
    if not choice.as_published:
        found.append(f"its speeds were measured with a window of {_window(profile):,} tokens, not of {context:,}")
    found += _cache_warning(profile, streams, context)
    if profile.variant == "mtp":
        found.append("with speculation clients cannot use min_p")
    if not read_facts(profile).flags_pass and profile.variant is not None:
        found.append(f"how the image switches {profile.variant} on is not published")
    if profile.hardware.memory is MemoryKind.DISCRETE and not read_facts(profile).pool_gib:
        found.append(
            "bare 2-bit experts: published for throughput and retrieval, and called unsupported for serving quality "
            "by the project's own README; rtx6000-a gives the best answers, one stream at a time"
        )
    return found


def _retrieval_warning(profile: Profile, context: int) -> str:
    known = f"retrieval is reliable to about {_reliable(profile):,} tokens with this profile"
    curve = profile.curves.get("retrieval")
    reading = read_curve(curve, context) if curve else None
    if reading is None:
        return known
    if reading.basis == "beyond":
        at, share = reading.between[0]
        return f"nothing was measured at {context:,} tokens (the last: {share:g}% of needles at {at:,.0f}); {known}"
    return f"needles found at {context:,} tokens: {reading.words('%')}; {known}"


def _cache_warning(profile: Profile, streams: int, context: int) -> list[str]:
    """Whether all streams at full length have room in the KV cache, where the profile's figures tell."""
    gpu, cache = profile.hardware.gpu, profile.memory.kv_cache
    share = profile.flag("--gpu-memory-utilization")
    if gpu is None or gpu.memory_bytes is None or cache is None or not isinstance(share, int | float):
        return []
    held = sum(from_gib(t.gib) for t in profile.memory.terms.values() if t.pool == "gpu" and t.last is Phase.SERVING)
    room = max(round(gpu.memory_bytes * share) - held, 0)
    need = round(streams * context * cache.bytes_per_token)
    if need <= room:
        return []
    said = (
        f"{streams} streams of {context:,} tokens want {format_bytes(need)} of KV cache, there is room for about "
        f"{format_bytes(room)} (derived): not all of them can be that long at once"
    )
    return [said]

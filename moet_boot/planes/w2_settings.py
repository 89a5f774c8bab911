"""The server's environment as the server reads it, exact strings and all (planes.md f.2, g.1, g.5)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.knob import PREFIX
from moet_boot.planes.knob_table import KNOBS
from moet_boot.planes.server_version import ServerVersion

ZERO_MODES = ("auto", "sign", "alt")
_AUTO = ("auto", "-1", "-1.0")


@dataclass(frozen=True)
class PoolSize:
    """A size in GiB (2**30 bytes), or `auto` (then `size_gib` is 0)."""

    size_gib: float
    auto: bool = False


@dataclass(frozen=True)
class W2Settings:
    """The part of the environment that decides about planes, packs and pools.

    Raises UsageError in `from_env` for a value on which the server itself would stop.
    """

    server: ServerVersion
    enabled: bool
    num_layers: int | None
    planes_cache: str | None
    store_dir: str | None
    ckpt_id: str | None
    zero_mode: str
    base_cache_gib: float
    base_ram: PoolSize | None
    delta_switch: bool
    delta: PoolSize
    delta_is_set: bool
    split: bool
    exl3: bool = False

    @classmethod
    def from_env(cls, env: Mapping[str, str], server: ServerVersion) -> Self:
        """Read a full environment; names that do not concern planes are ignored."""
        name = f"{PREFIX}_DELTA_GB"
        v2 = server is ServerVersion.V2
        return cls(
            server=server,
            enabled=switch(env, PREFIX),
            num_layers=_optional_int(env, f"{PREFIX}_NUM_LAYERS"),
            planes_cache=env.get(f"{PREFIX}_PLANES_CACHE") or None,
            store_dir=env.get(f"{PREFIX}_STORE_DIR", "").strip() or None,
            ckpt_id=(env.get(f"{PREFIX}_CKPT_ID", "").strip() or None) if v2 else None,
            zero_mode=_zero_mode(env, server),
            base_cache_gib=_gib(f"{PREFIX}_BASE_CACHE_GB", _text(env, f"{PREFIX}_BASE_CACHE_GB")),
            base_ram=_optional_pool(env, f"{PREFIX}_BASE_RAM_GB"),
            delta_switch=switch(env, f"{PREFIX}_DELTA"),
            delta=pool_size(name, _text(env, name)),
            delta_is_set=name in env,
            split=switch(env, f"{PREFIX}_DELTA_SPLIT"),
            exl3=v2 and switch(env, f"{PREFIX}_EXL3_BASE"),
        )

    @property
    def base_cache(self) -> bool:
        """Whether the 2-bit base lives on the host under a GPU pool: then only packs are probed (f.3)."""
        return self.base_cache_gib > 0

    @property
    def fp4_tier(self) -> bool:
        """Whether the FP4 tier is on; over a base cache DELTA_GB must be set, and positive (g.1)."""
        if not self.delta_switch:
            return False
        if self.base_cache:
            return self.delta_is_set and self.delta.size_gib > 0
        return self.delta.auto or self.delta.size_gib > 0

    @property
    def fp4_tag(self) -> SlotKind:
        """The tag under which the FP4 tier keeps its rows (d.1)."""
        if not self.base_cache:
            return SlotKind.DELTA
        return SlotKind.FP4Q if self.split else SlotKind.FP4

    @property
    def fp4_slots(self) -> SlotKind:
        """What a slot of the FP4 pool holds; without a base, split mode keeps the tag `delta`."""
        return SlotKind.FP4Q if self.split else self.fp4_tag


def switch(env: Mapping[str, str], name: str) -> bool:
    """Whether a `=1` knob is on: only the exact string 1 counts."""
    return _text(env, name) == "1"


def pool_size(name: str, text: str) -> PoolSize:
    """A size in GiB, or one of the server's words for auto; raises UsageError for anything else."""
    if text in _AUTO:
        return PoolSize(0.0, auto=True)
    return PoolSize(_gib(name, text))


def _text(env: Mapping[str, str], name: str) -> str:
    return env.get(name, KNOBS[name].default or "")


def _gib(name: str, text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not math.isfinite(size):
        raise _unreadable(name, text, "a number of GiB")
    return size


def _optional_int(env: Mapping[str, str], name: str) -> int | None:
    return _int(name, env[name]) if name in env else None


def _int(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _unreadable(name, text, "a whole number") from None


def _optional_pool(env: Mapping[str, str], name: str) -> PoolSize | None:
    return pool_size(name, env[name]) if env.get(name) else None


def _zero_mode(env: Mapping[str, str], server: ServerVersion) -> str:
    name = f"{PREFIX}_ZERO_MODE"
    text = _text(env, name)
    if server is ServerVersion.V1:
        return text
    mode = text.strip().lower()
    if mode not in ZERO_MODES:
        raise _unreadable(name, text, f"one of {', '.join(ZERO_MODES)}")
    return mode


def _unreadable(name: str, text: str, expected: str) -> UsageError:
    return UsageError(
        f"{name}={text!r} is not {expected}: the server dies on it at start-up",
        fix=f"set {name} to {expected}",
    )

"""Rules about planes cache and pack store: settings that are legal and lead to a boot from nothing."""

from moet_boot.planes.knob import PREFIX
from moet_boot.profile.rules.facts import Facts
from moet_boot.profile.rules.result import Outcome

STAGED = (
    "each layer without one stages 3.1875 GiB in host RAM, 137.06 GiB for all 43 (about 51 GiB were seen on one host)"
)


def master_switch(facts: Facts) -> Outcome | None:
    """Without the 2-bit path the checkpoint does not fit the card."""
    if not facts.planes_path:
        return None
    text = facts.env.get(PREFIX)
    measured = f"{PREFIX} is {text if text is not None else 'absent'}"
    if text == "1":
        return Outcome("pass", measured, "exactly 1")
    why = "the server reads anything but 1 as off and loads the whole checkpoint: 149 GB into 96 GB"
    return Outcome("refuse", measured, "exactly 1", why, f"set {PREFIX}=1")


def source_of_planes(facts: Facts) -> Outcome | None:
    """One store must serve the experts, or the loader stages them all."""
    w2 = facts.w2
    if w2 is None or not w2.enabled or w2.exl3:
        return None
    if w2.base_cache:
        if w2.store_dir:
            return Outcome("pass", f"packs in {w2.store_dir}", "a pack store, because a base cache is on")
        why = f"over a base cache the server looks into packs only; {STAGED}"
        fix = f"set {PREFIX}_STORE_DIR, or {PREFIX}_BASE_CACHE_GB=0"
        return Outcome("warn", f"{PREFIX}_STORE_DIR unset", "a pack store, because a base cache is on", why, fix)
    if w2.planes_cache:
        return Outcome("pass", f"planes cache in {w2.planes_cache}", "a planes cache")
    alone = f"only {PREFIX}_STORE_DIR set" if w2.store_dir else f"{PREFIX}_PLANES_CACHE unset"
    why = f"without a base cache the server looks into the planes cache only; {STAGED}"
    return Outcome("warn", alone, "a planes cache", why, f"set {PREFIX}_PLANES_CACHE")


def cache_bypassed(facts: Facts) -> Outcome | None:
    """A base cache makes the server ignore the planes cache (f.4 no. 4)."""
    if facts.w2 is None or not facts.w2.enabled or not facts.w2.planes_cache:
        return None
    measured = f"{PREFIX}_BASE_CACHE_GB {facts.w2.base_cache_gib:g}"
    if not facts.w2.base_cache:
        return Outcome("pass", measured, "0 beside a planes cache")
    why = "with a base cache on, the loader skip asks the pack store only: the planes cache is not looked at"
    return Outcome("warn", measured, "0 beside a planes cache", why, f"set {PREFIX}_BASE_CACHE_GB=0")


def cache_identity(facts: Facts) -> Outcome | None:
    """Two settings are part of what a cache is called, and the published one has their defaults (e.3, f.4 no. 8)."""
    w2 = facts.w2
    if w2 is None or not w2.enabled or w2.exl3 or not (w2.planes_cache or w2.base_cache):
        return None
    changed = [f"{PREFIX}_ZERO_MODE {w2.zero_mode}"] if w2.zero_mode != "auto" else []
    changed += [f"{PREFIX}_DELTA_SPLIT 1"] if w2.split else []
    required = f"{PREFIX}_ZERO_MODE auto and {PREFIX}_DELTA_SPLIT 0, as the published cache has them"
    if not changed:
        return Outcome("pass", "both at their defaults", required)
    why = f"a cache that was made with other values misses in every layer; {STAGED}"
    fix = "drop it, or use a cache that was made with it"
    return Outcome("warn", ", ".join(changed), required, why, fix)


def delta_unset(facts: Facts) -> Outcome | None:
    """The default of the FP4 pool is 2 GiB, not 0 (f.4 no. 2)."""
    w2 = facts.w2
    if w2 is None or not w2.enabled or w2.base_cache or not w2.delta_switch:
        return None
    name = f"{PREFIX}_DELTA_GB"
    if w2.delta_is_set:
        return Outcome("pass", f"{name} {facts.env[name]}", f"{name} said")
    why = "unset means 2 GiB: the FP4 tier is on, and a cache with 2-bit parts only then misses every layer"
    return Outcome("warn", f"{name} unset", f"{name} said", why, f"set {name}=0, or provide the FP4 parts")


def pinned_store(facts: Facts) -> Outcome | None:
    """An FP4 tier without a pack store keeps its rows in host memory (d.6)."""
    w2 = facts.w2
    if w2 is None or not w2.enabled or not w2.fp4_tier:
        return None
    if w2.store_dir:
        return Outcome("pass", f"FP4 rows in {w2.store_dir}", "a pack store for the FP4 tier")
    held = "137.06 GiB of pageable" if w2.base_cache else "129 GiB of pinned"
    why = f"the tier then keeps its rows in {held} host memory"
    fix = f"set {PREFIX}_STORE_DIR, or {PREFIX}_DELTA_GB=0"
    return Outcome("warn", f"{PREFIX}_STORE_DIR unset", "a pack store for the FP4 tier", why, fix)


def delta_auto(facts: Facts) -> Outcome | None:
    """Over a base cache `auto` counts as 0 (g.1)."""
    w2 = facts.w2
    if w2 is None or not w2.enabled or not w2.delta.auto:
        return None
    if not w2.base_cache:
        return Outcome("pass", f"{PREFIX}_DELTA_GB auto", "auto only without a base cache")
    why = "over a base cache auto counts as 0: the FP4 tier is off"
    return Outcome(
        "warn", f"{PREFIX}_DELTA_GB auto", "auto only without a base cache", why, f"set {PREFIX}_DELTA_GB to a number"
    )


def base_ram(facts: Facts) -> Outcome | None:
    """The pinned arena exists only over a pack store (d.6)."""
    w2 = facts.w2
    if w2 is None or not w2.enabled or w2.base_ram is None:
        return None
    name = f"{PREFIX}_BASE_RAM_GB"
    if w2.store_dir and w2.base_cache:
        return Outcome("pass", f"{name} {facts.env[name]}", "a pack store and a base cache under it")
    why = "the arena caches rows of the base pack: without one it is ignored"
    fix = f"set {PREFIX}_STORE_DIR and {PREFIX}_BASE_CACHE_GB, or drop {name}"
    return Outcome("warn", f"{name} {facts.env[name]}", "a pack store and a base cache under it", why, fix)


def model_path(facts: Facts) -> Outcome | None:
    """A v1 cache belongs to one spelling of the model's path (d.5)."""
    targets = [m.target for n, m in facts.profile.mounts.items() if m.artefact == "checkpoint" or n == "checkpoint"]
    if not targets or facts.w2 is None or not facts.w2.enabled:
        return None
    model = facts.profile.engine.model
    if model in targets:
        return Outcome("pass", f"model {model}", "exactly the checkpoint's mount")
    why = "the path as the server sees it is hashed into the identity of cache and packs: another spelling misses"
    return Outcome("warn", f"model {model}", f"exactly {targets[0]}", why, f'set engine.model = "{targets[0]}"')

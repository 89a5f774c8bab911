"""What the 2-bit path moves through host RAM and keeps there (planes.md d.6, f.5)."""

from moet_boot.forecast.facts import BootFacts, StoreFacts
from moet_boot.forecast.model import Staging, Term
from moet_boot.phases import Phase
from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.loader_skip import SkipForecast, forecast_from_summary
from moet_boot.planes.skip_memory import layer_parameter_bytes
from moet_boot.planes.w2_settings import W2Settings

LAYER_BYTES = layer_parameter_bytes(DS4_FLASH)


def staging(settings: W2Settings, facts: BootFacts) -> Staging:
    """Which layers the loader will stage, from what is known of the one store that the server asks."""
    name, asked = _asked_store(settings, facts)
    skips = skip_forecast(settings, facts)
    w2 = sum(layer.w2 for layer in skips.layers)
    missed = len(skips.missed)
    if missed and asked and asked.missing:
        missed = min(asked.missing, w2)
    known = asked is not None
    problem = asked.problem if asked else f"nobody looked at the {name}"
    first = next((layer.reason for layer in skips.missed), None)
    return Staging(
        name, w2, missed if known else 0, missed * LAYER_BYTES if known else 0, known, problem or first or ""
    )


def skip_forecast(settings: W2Settings, facts: BootFacts) -> SkipForecast:
    """The server's decisions, from summaries of its stores; a store that nobody looked at counts as complete."""
    return forecast_from_summary(
        settings,
        DS4_FLASH,
        planes_cache=facts.planes_cache is None or facts.planes_cache.complete,
        pack_store=facts.pack_store is None or facts.pack_store.complete,
    )


def host_terms(settings: W2Settings, facts: BootFacts, staged: Staging) -> list[Term]:
    """The host RAM of the 2-bit path, beside the engine's own."""
    memory = skip_forecast(settings, facts).memory
    return [
        Term(
            "staging",
            staged.staged_bytes,
            "host",
            Phase.LOADING_WEIGHTS,
            Phase.PLANES,
            f"{staged.missed} layers that the {staged.store} does not serve, 3.1875 GiB each (planes.md f.5)",
        ),
        Term(
            "cache_read",
            memory.cache_read_bytes,
            "host",
            Phase.PLANES,
            Phase.PLANES,
            "one layer of the planes cache on its way (planes.md f.5)",
        ),
        Term(
            "resident_stores",
            memory.resident_store_bytes,
            "host",
            Phase.PLANES,
            Phase.SERVING,
            "rows that the pools keep in host RAM without a complete store (planes.md d.6)",
        ),
    ]


def _asked_store(settings: W2Settings, facts: BootFacts) -> tuple[str, StoreFacts | None]:
    """The store that the server probes: packs over a base cache, else the planes cache (planes.md f.3)."""
    if settings.base_cache:
        unset = StoreFacts(complete=False, problem="VLLM_MOE_W2_STORE_DIR is not set")
        return "pack store", facts.pack_store if settings.store_dir else unset
    unset = StoreFacts(complete=False, problem="VLLM_MOE_W2_PLANES_CACHE is not set")
    return "planes cache", facts.planes_cache if settings.planes_cache else unset

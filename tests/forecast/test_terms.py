import pytest

from moet_boot.forecast.asked import asked
from moet_boot.forecast.facts import BootFacts
from moet_boot.forecast.model import Term
from moet_boot.forecast.terms import boot_terms, granted_bytes, kv_term
from moet_boot.phases import Phase
from moet_boot.units import from_gib, gib
from tests.checks.cases import plan_of

CARD = BootFacts(gpu_total_bytes=102_641_958_912)


def terms_of(
    profile: str, *sets: str, variant: str | None = None, facts: BootFacts = CARD, extra: tuple[str, ...] = ()
) -> dict[str, Term]:
    found, plan = plan_of(profile, variant, sets, extra=extra)
    wish = asked(found, plan)
    terms = boot_terms(found, wish, facts, None)
    cache = kv_term(found, wish, facts, terms)
    return {term.name: term for term in (*terms, *([cache[0]] if cache else []))}


@pytest.mark.parametrize(
    ("sets", "name", "size_gib"),
    [
        pytest.param((), "planes", 72.5625, id="planes"),
        pytest.param((), "fp4_pool", 6, id="pool"),
        pytest.param(("VLLM_MOE_W2_DELTA_GB=5",), "fp4_pool", 426 * 12 / 1024, id="pool-in-whole-slots"),
        pytest.param(("VLLM_MOE_W2_DELTA_GB=0",), "fp4_pool", None, id="no-pool"),
        pytest.param(("VLLM_MOE_W2_DELTA_GB=auto",), "fp4_pool", None, id="a-pool-that-takes-the-rest"),
        pytest.param(("VLLM_MOE_W2_DELTA_GB=",), "fp4_pool", 170 * 12 / 1024, id="unset-means-two-gib"),
        pytest.param(("VLLM_MOE_W2_BASE_CACHE_GB=4",), "planes", 606 * 6.75 / 1024, id="a-pool-over-host-planes"),
        pytest.param(("VLLM_MOE_W2=0",), "planes", 137.0625, id="experts-as-they-are"),
        pytest.param((), "mtp_experts", None, id="no-drafts"),
        pytest.param(
            ('speculative-config={"method":"deepseek_mtp","num_speculative_tokens":1}',),
            "mtp_experts",
            3.1875,
            id="mtp",
        ),
        pytest.param((), "graph_estimate", None, id="estimate-off"),
        pytest.param(("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1",), "graph_estimate", 2, id="estimate-on"),
    ],
)
def test_the_settings_move_the_parts(sets: tuple[str, ...], name: str, size_gib: float | None) -> None:
    terms = terms_of("rtx6000-a", *sets)
    assert (name in terms) is (size_gib is not None)
    if size_gib is not None:
        assert terms[name].bytes == from_gib(size_gib)
        assert terms[name].source


def test_every_part_says_where_its_number_comes_from() -> None:
    for profile in ("spark", "rtx6000-a", "rtx6000-b", "demo"):
        assert all(term.source and term.bytes > 0 for term in terms_of(profile).values())


def test_the_kv_cache_fills_what_utilization_leaves() -> None:
    terms = terms_of("rtx6000-b")
    served = [t for t in terms.values() if t.pool == "gpu" and t.held_in(Phase.KV_CACHE) and t.name != "cuda_graphs"]
    graphs = terms["cuda_graphs"].bytes
    assert sum(t.bytes for t in served) + graphs == round(0.95 * 102_641_958_912)
    assert "0.95" in terms["kv_cache"].source


def test_the_kv_cache_is_never_negative() -> None:
    assert "kv_cache" in terms_of("rtx6000-b", "gpu-memory-utilization=0.5")
    assert terms_of("rtx6000-b", "gpu-memory-utilization=0.5")["kv_cache"].bytes == 0


@pytest.mark.parametrize(
    ("profile", "extra", "sets", "size_gib"),
    [
        pytest.param("spark", (), (), 0.12, id="fixed"),
        pytest.param("demo", (), (), 1, id="fixed-by-environment"),
        pytest.param("demo", (), ("VLLM_CPU_KVCACHE_SPACE=2",), 2, id="moved-by-environment"),
        pytest.param("rtx6000-b", ("--kv-cache-memory-bytes", "1073741824"), (), 1, id="given-in-bytes"),
    ],
)
def test_kv_cache_by_decree(profile: str, extra: tuple[str, ...], sets: tuple[str, ...], size_gib: float) -> None:
    assert terms_of(profile, *sets, extra=extra)["kv_cache"].bytes == from_gib(size_gib)


def test_one_sequence_of_the_full_context() -> None:
    found, plan = plan_of("rtx6000-a")
    cache = kv_term(found, asked(found, plan), CARD, [])
    assert cache is not None
    assert cache[1].context_tokens == 262_144
    assert gib(cache[1].one_sequence_bytes) == pytest.approx(0.45)


def test_without_utilization_one_sequence_is_counted() -> None:
    found, plan = plan_of("rtx6000-b", None, ("gpu-memory-utilization=",))
    cache = kv_term(found, asked(found, plan), CARD, [])
    assert cache is not None
    assert cache[0].bytes == round(32_768 * 1843.2)


@pytest.mark.parametrize(
    ("profile", "facts", "granted"),
    [
        pytest.param("rtx6000-a", CARD, round(0.99 * 102_641_958_912), id="of-the-card"),
        pytest.param("rtx6000-a", BootFacts(), round(0.99 * 102_005_473_280), id="of-the-profiles-card"),
        pytest.param("spark", BootFacts(memory_total_bytes=1000), None, id="the-image-decides"),
        pytest.param("demo", BootFacts(memory_total_bytes=1000), None, id="no-gpu"),
    ],
)
def test_what_utilization_grants(profile: str, facts: BootFacts, granted: int | None) -> None:
    found, plan = plan_of(profile)
    assert granted_bytes(found, asked(found, plan), facts) == granted


@pytest.mark.parametrize(
    ("size", "gib_of_dense"), [(159_617_149_040, 8.40), (160_000_000_000, 8.76), (158_000_000_000, 8.40)]
)
def test_a_larger_checkpoint_has_more_dense_weights(size: int, gib_of_dense: float) -> None:
    terms = terms_of("spark", facts=BootFacts(checkpoint_bytes=size))
    assert gib(terms["dense_weights"].bytes) == pytest.approx(gib_of_dense, abs=0.01)

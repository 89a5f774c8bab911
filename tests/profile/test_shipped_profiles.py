"""The shipped profiles say what was published, and every decision says why."""

import re
from collections.abc import Iterator

import pytest

from moet_boot.phases import Phase
from moet_boot.profile.explain import Explained, explain
from moet_boot.profile.files import shipped_names
from moet_boot.profile.model import ArtefactKind, MemoryKind, Profile
from moet_boot.profile.rules import check_rules
from tests.profile.shipped import VARIANTS, shipped

GIB = 1 << 30

PUBLISHED_ENV: dict[str, dict[str, str]] = {
    "rtx6000-a": {
        "VLLM_MOE_W2": "1",
        "VLLM_MOE_W2_PLANES_CACHE": "/planescache",
        "VLLM_MOE_W2_STORE_DIR": "/store",
        "VLLM_MOE_W2_DELTA_GB": "6",
        "VLLM_MOE_W2_GATE": "1",
        "VLLM_MOE_W2_GATE_MAX_PROMOTE": "64",
        "VLLM_MOE_W2_FORCE_POOL": "1",
        "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0",
    },
    "rtx6000-b": {
        "VLLM_MOE_W2": "1",
        "VLLM_MOE_W2_PLANES_CACHE": "/planescache",
        "VLLM_MOE_W2_DELTA_GB": "0",
    },
    "spark": {},
    "demo": {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_CACHE_ROOT": ".demo/cache",
    },
}

BOTH_RTX = {
    "--served-model-name": "deepseek-v4-flash",
    "--trust-remote-code": True,
    "--kv-cache-dtype": "fp8",
    "--block-size": 256,
    "--tokenizer-mode": "deepseek_v4",
    "--no-scheduler-reserve-full-isl": True,
    "--compilation-config": '{"cudagraph_mode":"FULL_AND_PIECEWISE","custom_ops":["all"]}',
    "--port": 8000,
    "--speculative-config": None,
}
PUBLISHED_FLAGS = {
    ("rtx6000-a", None): BOTH_RTX
    | {
        "--max-model-len": 262144,
        "--gpu-memory-utilization": 0.99,
        "--max-num-batched-tokens": 1024,
        "--max-num-seqs": 1,
    },
    ("rtx6000-b", None): BOTH_RTX
    | {
        "--max-model-len": 32768,
        "--gpu-memory-utilization": 0.95,
        "--max-num-batched-tokens": 2048,
        "--max-num-seqs": 256,
    },
    ("rtx6000-b", "mtp"): BOTH_RTX
    | {
        "--max-model-len": 32768,
        "--gpu-memory-utilization": 0.95,
        "--max-num-batched-tokens": 2048,
        "--max-num-seqs": 192,
        "--speculative-config": '{"method":"deepseek_mtp","num_speculative_tokens":2}',
    },
    ("demo", None): {
        "--host": "127.0.0.1",
        "--port": 8123,
        "--dtype": "bfloat16",
        "--max-model-len": 256,
        "--enforce-eager": True,
        "--max-num-seqs": 4,
    },
}


def decisions() -> Iterator[tuple[str, Explained]]:
    for name, variant in VARIANTS:
        for one in explain(shipped(name, variant)):
            yield f"{name}/{variant}/{one.key}", one


def test_these_profiles_are_shipped() -> None:
    assert shipped_names() == sorted({name for name, _ in VARIANTS})


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_profile_knows_its_name_and_its_variants(name: str, variant: str | None) -> None:
    profile = shipped(name, variant)
    assert (profile.name, profile.variant) == (name, variant)
    assert set(profile.variants) == {theirs for of, theirs in VARIANTS if of == name and theirs}


@pytest.mark.parametrize("name", PUBLISHED_ENV)
def test_the_environment_is_the_published_one(name: str) -> None:
    assert shipped(name).env_values() == PUBLISHED_ENV[name]


@pytest.mark.parametrize(("name", "variant"), PUBLISHED_FLAGS, ids=str)
def test_the_flags_are_the_published_ones(name: str, variant: str | None) -> None:
    profile, expected = shipped(name, variant), PUBLISHED_FLAGS[name, variant]
    assert {flag: profile.flag(flag) for flag in expected} == expected


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_flags_beyond_the_published_ones_are_marked_as_moet_boots_choice(name: str, variant: str | None) -> None:
    profile, published = shipped(name, variant), PUBLISHED_FLAGS.get((name, variant), {"--speculative-config": ""})
    for flag in set(profile.flags) - set(published):
        assert profile.flags[flag].source.startswith("moet-boot's choice"), flag


def test_every_decision_has_a_reason_and_a_source() -> None:
    for where, one in decisions():
        assert len(one.why) > 10, where
        assert len(one.source) > 5, where


def test_sources_are_words_that_a_reader_can_follow() -> None:
    known = re.compile(
        r"vLLM-Moet pull request 16|DGX Spark plane file, published notes|field notes|derived|vLLM 0\.32\.0"
        r"|moet-boot's (choice|judgement|assumption)|public user's notes|public inventory|the Spark fork|measured"
    )
    for where, one in decisions():
        assert known.search(one.source), (where, one.source)


def test_a_figure_of_moet_boots_own_says_so() -> None:
    """No deadline was published, so none may claim that it was."""
    for name, variant in VARIANTS:
        for phase, deadline in shipped(name, variant).deadlines.items():
            assert "moet-boot's judgement" in deadline.source, (name, phase)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_phase_of_a_boot_has_a_deadline(name: str, variant: str | None) -> None:
    assert set(shipped(name, variant).deadlines) == set(Phase) - {Phase.SERVING}


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_no_rule_refuses_a_shipped_profile(name: str, variant: str | None) -> None:
    profile = shipped(name, variant)
    results = check_rules(profile)
    assert results
    assert [r.id for r in results if r.status == "refuse"] == []
    warned = {r.id for r in results if r.status == "warn"}
    guarded = profile.container is not None and not profile.container.pass_arguments
    # a variant of a guarded image is what the image must be configured to be
    assert warned == ({"RULE.ARGUMENTS"} if guarded and variant else set())


CHECKPOINT = {
    "repo": "deepseek-ai/DeepSeek-V4-Flash",
    "revision": "60d8d70770c6776ff598c94bb586a859a38244f1",
    "size_bytes": 159_617_149_040,
    "shards": 46,
}


@pytest.mark.parametrize("name", ["spark", "rtx6000-a", "rtx6000-b"])
def test_the_checkpoint_is_pinned(name: str) -> None:
    checkpoint = shipped(name).artefacts["checkpoint"]
    assert checkpoint.kind is ArtefactKind.CHECKPOINT
    assert {key: getattr(checkpoint, key) for key in CHECKPOINT} == CHECKPOINT


def test_the_plane_file_is_the_published_one() -> None:
    plane = shipped("spark").artefacts["plane_file"]
    assert plane.kind is ArtefactKind.PLANE_FILE
    assert (plane.repo, plane.file) == ("9prodhi/DeepSeek-V4-Flash-moet2pf", "ds4-planes.moet2pf")
    assert plane.size_bytes == 77_913_923_584
    assert plane.sha256 == "998610cd65bbdad730229492dc2e3da2a1723ef73529fb027e676475c70ead35"


CACHE_REPO = "anoane/DeepSeek-V4-Flash-vllm-moet-sm120-cache"


@pytest.mark.parametrize(
    ("name", "artefact", "kind", "folder", "size_gib"),
    [
        ("rtx6000-a", "planes_cache", ArtefactKind.PLANES_CACHE, "planescache", 201.5625),
        ("rtx6000-a", "pack_store", ArtefactKind.PACK_STORE, "moet_store", 132),
        ("rtx6000-b", "planes_cache", ArtefactKind.PLANES_CACHE, "planescache", 72.5625),
    ],
)
def test_the_caches_come_from_the_prebuilt_repository(
    name: str, artefact: str, kind: ArtefactKind, folder: str, size_gib: float
) -> None:
    found = shipped(name).artefacts[artefact]
    assert (found.kind, found.repo, found.file) == (kind, CACHE_REPO, folder)
    assert found.size_bytes == size_gib * GIB


def test_b_has_no_pack_store() -> None:
    assert set(shipped("rtx6000-b").artefacts) == {"checkpoint", "planes_cache"}
    assert "/store" not in {mount.target for mount in shipped("rtx6000-b").mounts.values()}


MOUNTS = {
    "rtx6000-a": {
        "/model": ("checkpoint", True),
        "/planescache": ("planes_cache", False),
        "/store": ("pack_store", False),
    },
    "rtx6000-b": {"/model": ("checkpoint", True), "/planescache": ("planes_cache", False)},
    "spark": {
        "/workspace/models/DeepSeek-V4-Flash": ("checkpoint", True),
        "/workspace/models/ds4-planes.moet2pf": ("plane_file", True),
    },
}


@pytest.mark.parametrize("name", MOUNTS)
def test_mounts_are_where_the_image_looks(name: str) -> None:
    assert {m.target: (m.artefact, m.read_only) for m in shipped(name).mounts.values()} == MOUNTS[name]


@pytest.mark.parametrize(
    ("name", "image", "arch", "gpus", "passes"),
    [
        ("rtx6000-a", "vllm-moet-sm120:v024", "amd64", "device=0", True),
        ("rtx6000-b", "vllm-moet-sm120:v024", "amd64", "device=0", True),
        ("spark", "vllm-moet-gb10:v024", "arm64", "all", False),
    ],
)
def test_containers(name: str, image: str, arch: str, gpus: str, passes: bool) -> None:
    container = shipped(name).container
    assert container is not None
    assert (container.image, container.image_arch, container.gpus) == (image, arch, gpus)
    assert (container.network, container.ipc, container.shm_bytes) == ("host", "host", 64 * GIB)
    assert container.pass_arguments is passes
    assert container.entrypoint is None
    assert {"network", "ipc", "shm_bytes"} <= set(container.reasons)


def test_the_sparks_guarded_image_is_asked_where_it_is_known_to_listen() -> None:
    engine = shipped("spark").engine
    assert (engine.host, engine.port, engine.formats) == ("127.0.0.1", 8010, None)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_nothing_listens_beyond_loopback_by_itself(name: str, variant: str | None) -> None:
    profile = shipped(name, variant)
    assert profile.engine.host == "127.0.0.1"
    assert profile.flag("--host") in {None, "127.0.0.1"}


@pytest.mark.parametrize("name", ["rtx6000-a", "rtx6000-b"])
def test_the_model_string_is_the_caches_own(name: str) -> None:
    engine = shipped(name).engine
    assert (engine.model, engine.formats) == ("/model", "v1")


@pytest.mark.parametrize(
    ("name", "kind", "gpu", "capability", "archs"),
    [
        ("spark", MemoryKind.UNIFIED, "GB10", "12.1", ("aarch64",)),
        ("rtx6000-a", MemoryKind.DISCRETE, "RTX PRO 6000", "12.0", ("x86_64",)),
        ("rtx6000-b", MemoryKind.DISCRETE, "RTX PRO 6000", "12.0", ("x86_64",)),
    ],
)
def test_hardware(name: str, kind: MemoryKind, gpu: str, capability: str, archs: tuple[str, ...]) -> None:
    hardware = shipped(name).hardware
    assert (hardware.memory, hardware.architectures) == (kind, archs)
    assert hardware.gpu is not None
    assert (hardware.gpu.names, hardware.gpu.compute_capability) == ((gpu,), capability)


def test_the_card_that_nvml_reports_is_large_enough() -> None:
    for name in ("rtx6000-a", "rtx6000-b"):
        gpu = shipped(name).hardware.gpu
        assert gpu is not None
        assert gpu.memory_bytes is not None
        assert gpu.memory_bytes <= 102_641_958_912


def held(profile: Profile, phase: Phase) -> float:
    """GiB of all terms in one phase, KV cache included."""
    terms = profile.memory.terms.values()
    cache = profile.memory.kv_cache
    fixed = cache.fixed_gib or 0.0 if cache is not None and phase.order >= Phase.KV_CACHE.order else 0.0
    return sum(t.gib for t in terms if t.first.order <= phase.order <= t.last.order) + fixed


def test_the_sparks_terms_and_floor_add_up_to_the_published_minimum() -> None:
    profile = shipped("spark")
    peak = max(held(profile, phase) for phase in Phase)
    assert peak + profile.guard.hard_floor_gib == pytest.approx(104, abs=0.3)
    assert (profile.memory.minimum_available_gib, profile.memory.comfortable_available_gib) == (104, 108)


@pytest.mark.parametrize("name", ["rtx6000-a", "rtx6000-b"])
def test_the_cards_terms_leave_room_on_the_card(name: str) -> None:
    terms = shipped(name).memory.terms.values()
    gpu = sum(term.gib for term in terms if term.pool == "gpu")
    assert 80 < gpu < 95.6


def test_the_mtp_variant_of_b_brings_its_experts_along() -> None:
    plain, mtp = shipped("rtx6000-b").memory.terms, shipped("rtx6000-b", "mtp").memory.terms
    assert set(mtp) - set(plain) == {"mtp_experts"}
    assert mtp["mtp_experts"].gib * GIB == 3_422_552_064


def test_the_demo_fits_into_what_was_measured() -> None:
    assert held(shipped("demo"), Phase.SERVING) == pytest.approx(2.7, abs=0.1)


def test_the_sparks_guard_follows_the_policy_for_unified_memory() -> None:
    guard = shipped("spark").guard
    assert (guard.hard_floor_gib, guard.serving_floor_gib, guard.serving_seconds) == (8, 4, 3)
    assert (guard.projection_seconds, guard.projection_ceiling_gib, guard.projection_rate_gib_s) == (1, 16, 2)
    assert guard.serving_hard_floor_gib < 1.5, "healthy servers were seen at 1.5 GiB available"
    assert guard.relief


@pytest.mark.parametrize("name", ["rtx6000-a", "rtx6000-b", "demo"])
def test_elsewhere_the_guard_does_not_touch_the_page_cache(name: str) -> None:
    assert not shipped(name).guard.relief
    assert shipped(name).guard.hard_floor_gib < shipped("spark").guard.hard_floor_gib


@pytest.mark.parametrize(
    ("name", "variant", "key", "value"),
    [
        ("spark", None, "decode_tokens_per_s", 16.6),
        ("spark", "mtp", "decode_tokens_per_s", 29.8),
        ("spark", None, "prefill_tokens_per_s_min", 413),
        ("spark", None, "prefill_tokens_per_s_max", 665),
        ("spark", None, "context_tokens", 65536),
        ("spark", None, "determinism", "3/3"),
        ("spark", None, "needle", "8/8"),
        ("rtx6000-a", None, "decode_tokens_per_s", 75),
        ("rtx6000-a", None, "prefill_256k_seconds", 65),
        ("rtx6000-b", None, "decode_tokens_per_s", 89),
        ("rtx6000-b", "mtp", "decode_tokens_per_s", 115),
        ("rtx6000-b", None, "throughput_tokens_per_s", 2085),
        ("rtx6000-b", "mtp", "throughput_tokens_per_s", 1122),
    ],
)
def test_acceptance_figures(name: str, variant: str | None, key: str, value: float | str) -> None:
    assert shipped(name, variant).acceptance[key].value == value


PLAIN_POINTS = {1: 89, 8: 220, 32: 513, 64: 752, 96: 1097, 128: 1368, 192: 1748, 256: 2085}
MTP_POINTS = {1: 115, 8: 234, 32: 442, 64: 1122, 128: 858, 192: 927}


@pytest.mark.parametrize(("variant", "points"), [(None, PLAIN_POINTS), ("mtp", MTP_POINTS)])
def test_the_throughput_table_is_the_published_one(variant: str | None, points: dict[int, int]) -> None:
    assert dict(shipped("rtx6000-b", variant).curves["throughput"].points) == points


def test_client_advice_of_the_cards() -> None:
    for name in ("rtx6000-a", "rtx6000-b"):
        sampling = shipped(name).sampling
        assert {key: sampling[key].value for key in sampling} == {"temperature": 1.0, "top_p": 1.0, "min_p": 0.05}
        assert sampling["temperature"].banned == (0.0,)


@pytest.mark.parametrize("name", ["spark", "rtx6000-b"])
def test_with_speculation_clients_are_told_to_leave_min_p_out(name: str) -> None:
    assert shipped(name, "mtp").sampling["min_p"].absent


def test_speculation_is_left_out_on_purpose_and_says_why() -> None:
    for name in ("rtx6000-a", "rtx6000-b"):
        setting = shipped(name).flags["--speculative-config"]
        assert setting.absent
        assert "tok/s" in (setting.measured or "")

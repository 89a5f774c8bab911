"""A resolved profile as the rules read it: the server's own reading of environment and flags."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.knob import PREFIX
from moet_boot.planes.knob_table import KNOBS
from moet_boot.planes.pool_floors import PoolPlan, delta_slots, pool_slots
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.w2_settings import W2Settings, switch
from moet_boot.profile.model import ArtefactKind, Profile

TOP_K = 6
"""Experts of a token in this model (num_experts_per_tok)."""
DEFAULT_SEQS = 256
"""What the server takes for --max-num-seqs when nothing is said; every floor stops counting at 4."""
DEFAULT_BATCHED_TOKENS = 2048
"""The smallest default of --max-num-batched-tokens that vLLM has for a server."""
MODEL_CONTEXT = 1_048_576
"""Positions that the model has; what the server takes when no context is given."""


@dataclass(frozen=True)
class Facts:
    """One resolved profile.

    `w2` is None without the 2-bit path or when its environment cannot be read (`w2_problem` says why).
    A server that is given no version is judged as v2, the stricter one.
    """

    profile: Profile
    env: Mapping[str, str]
    server: ServerVersion
    w2: W2Settings | None
    w2_problem: str
    n_spec: int
    spec_problem: str

    @property
    def flags_pass(self) -> bool:
        """Whether the flags reach the server: an image with a guarded entrypoint is started with none."""
        return self.profile.container is None or self.profile.container.pass_arguments

    @property
    def planes_path(self) -> bool:
        """Whether this profile is for the 2-bit path of a server whose flags moet-boot decides."""
        kinds = {artefact.kind for artefact in self.profile.artefacts.values()}
        cached = bool(kinds & {ArtefactKind.PLANES_CACHE, ArtefactKind.PACK_STORE})
        return self.flags_pass and (cached or any(name.startswith(PREFIX) for name in self.env))

    @property
    def seqs(self) -> int:
        """Sequences that decode together."""
        return self.whole("--max-num-seqs", DEFAULT_SEQS)

    @property
    def context(self) -> int:
        """Tokens of context; `auto` and nothing at all mean the model's own."""
        length = self.whole("--max-model-len", MODEL_CONTEXT)
        return MODEL_CONTEXT if length == -1 else length

    @property
    def pool_gib(self) -> float:
        """GiB of the FP4 pool, 0 without one (and for a pool that sizes itself)."""
        return self.w2.delta.size_gib if self.w2 is not None and self.w2.fp4_tier else 0.0

    @property
    def gate(self) -> bool:
        """Whether the confidence gate is asked for."""
        return switch(self.env, f"{PREFIX}_GATE")

    def whole(self, flag: str, otherwise: int) -> int:
        """A flag as a whole number."""
        value = self.profile.flag(flag)
        return value if isinstance(value, int) and not isinstance(value, bool) else otherwise

    def on(self, flag: str) -> bool:
        """Whether a switch is on."""
        return self.profile.flag(flag) is True

    def knob(self, name: str) -> int:
        """A whole number of the environment, the server's default when it is unset or unreadable."""
        text = self.env.get(name, KNOBS[name].default_for(self.server) or "0")
        return int(text) if text.lstrip("-").isdigit() else int(KNOBS[name].default_for(self.server) or "0")

    def pools(self) -> PoolPlan | None:
        """What the boot asks of its pools; None without the 2-bit path."""
        if self.w2 is None or not self.w2.enabled:
            return None
        base = pool_slots(self.w2.base_cache_gib, DS4_FLASH.slot_bytes) if self.w2.base_cache else None
        fp4 = None
        if self.w2.fp4_tier:
            # a pool that sizes itself still has no slots when the server checks (planes.md g.2)
            fp4 = 0 if self.w2.delta.auto else delta_slots(self.pool_gib, DS4_FLASH, self.w2.fp4_slots)
        return PoolPlan(
            layers=DS4_FLASH.n_layers,
            top_k=TOP_K,
            base_slots=base,
            fp4_slots=fp4,
            n_spec=self.n_spec,
            max_num_seqs=self.seqs,
            gate=self.gate,
            gate_fp_max=max(self.knob(f"{PREFIX}_GATE_FP_MAX"), 1),
            prefill_tokens=self.knob(f"{PREFIX}_PREFILL_T"),
            force_pool=switch(self.env, f"{PREFIX}_FORCE_POOL"),
        )


def read_facts(profile: Profile) -> Facts:
    """The facts of a resolved profile; what cannot be read is kept as a problem for a rule to report."""
    env = profile.env_values()
    server = ServerVersion(profile.engine.formats or ServerVersion.V2)
    w2, problem = None, ""
    if any(name.startswith(PREFIX) for name in env):
        try:
            w2 = W2Settings.from_env(env, server)
        except UsageError as error:
            problem = error.what
    n_spec, spec_problem = _drafts(profile)
    return Facts(profile, env, server, w2, problem, n_spec, spec_problem)


def _drafts(profile: Profile) -> tuple[int, str]:
    """Drafts of a step, and what is wrong with the speculative config."""
    text = profile.flag("--speculative-config")
    if text is None or text == "null":
        return 0, ""
    try:
        config = json.loads(str(text))
    except (ValueError, RecursionError):
        return 0, f"{str(text)[:60]!r} is not JSON"
    if not isinstance(config, dict):
        return 0, f"{str(text)[:60]!r} is not a JSON object"
    drafts = config.get("num_speculative_tokens")
    if not isinstance(drafts, int) or isinstance(drafts, bool) or drafts < 1:
        return 0, f"num_speculative_tokens is {drafts!r}"
    return drafts, ""

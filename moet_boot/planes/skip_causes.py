"""Why a layer is not skipped: the fifteen silent causes of planes.md f.4 and three plain ones, each with its remedy."""

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """One reason of a miss; the first fifteen stand in the order of f.4."""

    MASTER_OFF = "master-off"
    FP4_PARTS = "fp4-parts"
    PACKS_NOT_PROBED = "packs-not-probed"
    CACHE_NOT_PROBED = "cache-not-probed"
    SERVED_PATH = "served-path"
    CHECKPOINT_STATE = "checkpoint-state"
    OTHER_SERVER = "other-server"
    OTHER_WRITER = "other-writer"
    INCOMPLETE = "incomplete"
    NO_FP4_PACK = "no-fp4-pack"
    NUM_LAYERS = "num-layers"
    FP8_EXPERTS = "fp8-experts"
    FOLDER = "folder"
    PROBE_FAILED = "probe-failed"
    NO_REVISION = "no-revision"
    OTHER_MODEL = "other-model"
    NO_STORE = "no-store"
    EXL3 = "exl3"


@dataclass(frozen=True)
class Miss:
    """Why the server does not skip a layer; `detail` is what was seen."""

    cause: Cause
    detail: str

    @property
    def reason(self) -> str:
        """One sentence."""
        return _TEXTS[self.cause].reason.format(detail=self.detail)

    @property
    def fix(self) -> str:
        """What to do."""
        return _TEXTS[self.cause].fix


@dataclass(frozen=True)
class _Text:
    reason: str
    fix: str


_TEXTS: dict[Cause, _Text] = {
    Cause.MASTER_OFF: _Text(
        "the 2-bit path is off: VLLM_MOE_W2 must be exactly 1, {detail}",
        "set VLLM_MOE_W2=1",
    ),
    Cause.FP4_PARTS: _Text(
        "the FP4 tier is on ({detail}), so the planes cache must also hold the FP4 parts fp13 and fp2, and does not",
        "set VLLM_MOE_W2_DELTA_GB=0 for the pure 2-bit model, or add the parts with `moet-boot planes convert "
        "--to cache-v1|cache-v2 --checkpoint DIR`",
    ),
    Cause.PACKS_NOT_PROBED: _Text(
        "VLLM_MOE_W2_STORE_DIR is set and VLLM_MOE_W2_BASE_CACHE_GB is not: packs are not probed, {detail}",
        "set VLLM_MOE_W2_PLANES_CACHE to a planes cache, or VLLM_MOE_W2_BASE_CACHE_GB above 0 to boot from the pack",
    ),
    Cause.CACHE_NOT_PROBED: _Text(
        "VLLM_MOE_W2_BASE_CACHE_GB is above 0, so only packs are probed and the planes cache is not; {detail}",
        "drop VLLM_MOE_W2_BASE_CACHE_GB to boot from the planes cache, or provide the base pack in "
        "VLLM_MOE_W2_STORE_DIR",
    ),
    Cause.SERVED_PATH: _Text(
        "the cache was made for another model string: a v1 identity contains the path as served; {detail}",
        "serve the checkpoint under the string the cache was made for (often /model), or convert the cache with "
        "`moet-boot planes convert --served-path`",
    ),
    Cause.CHECKPOINT_STATE: _Text(
        "the cache was made for another state of the checkpoint: a v2 identity contains the times of every shard, "
        "which a copy, a download or a chown changes; {detail}",
        "set VLLM_MOE_W2_CKPT_ID to the id in the cache (if it was made from this very checkpoint), or rebuild it",
    ),
    Cause.OTHER_SERVER: _Text(
        "the cache has the format of the other server generation: {detail}",
        "convert it with `moet-boot planes convert --to pack-v1|pack-v2|cache-v1|cache-v2`, or use the image it "
        "was made with",
    ),
    Cause.OTHER_WRITER: _Text(
        "the cache was written under other settings: {detail}",
        "use the settings of the writer (VLLM_MOE_W2_ZERO_MODE, VLLM_MOE_W2_DELTA_SPLIT, tensor-parallel size and "
        "rank), or convert the cache",
    ),
    Cause.INCOMPLETE: _Text(
        "the cache does not hold this layer whole: {detail}",
        "complete or download the cache again; `moet-boot planes inspect` lists what is there",
    ),
    Cause.NO_FP4_PACK: _Text(
        "the FP4 tier over the base cache needs its own pack for this layer: {detail}",
        "provide that pack (`moet-boot planes convert --to pack-v1|pack-v2 --checkpoint DIR`), or unset "
        "VLLM_MOE_W2_DELTA_GB",
    ),
    Cause.NUM_LAYERS: _Text(
        "this layer is no 2-bit layer: {detail}; it loads in full and will not fit one GPU",
        "unset VLLM_MOE_W2_NUM_LAYERS",
    ),
    Cause.FP8_EXPERTS: _Text(
        "the loader of these experts has no skip and always stages them on the host: {detail}",
        "use the checkpoint with MXFP4 experts (expert_dtype fp4)",
    ),
    Cause.FOLDER: _Text(
        "the server cannot look into the cache: {detail}",
        "mount the folder where the variable says, readable for the server",
    ),
    Cause.PROBE_FAILED: _Text(
        "the server's probe fails and the server says nothing: {detail}",
        "repair or replace the file named here",
    ),
    Cause.NO_REVISION: _Text(
        "a v2 server has no identity for this model and so uses no cache: {detail}",
        "serve a local checkpoint, pin --revision to a 40-digit commit, or set VLLM_MOE_W2_CKPT_ID",
    ),
    Cause.OTHER_MODEL: _Text(
        "it was made for another model or format: {detail}",
        "use the pack or cache of this checkpoint; `moet-boot planes inspect` shows what one holds",
    ),
    Cause.NO_STORE: _Text(
        "VLLM_MOE_W2_BASE_CACHE_GB is above 0 and the packs have no folder: {detail}",
        "set VLLM_MOE_W2_STORE_DIR to the folder of the packs, or boot from a planes cache",
    ),
    Cause.EXL3: _Text(
        "the boot uses an EXL3 base, which moet-boot does not judge: {detail}",
        "unset VLLM_MOE_W2_EXL3_BASE to boot from planes",
    ),
}

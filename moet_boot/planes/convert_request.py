"""What a conversion is asked for, and which requests can never work."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from moet_boot.errors import UsageError
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.w2_settings import ZERO_MODES

_SHA1 = re.compile(r"[0-9a-f]{40}")


class Container(StrEnum):
    """What to convert into."""

    MOET2PF = "moet2pf"
    PACK_V1 = "pack-v1"
    PACK_V2 = "pack-v2"
    CACHE_V1 = "cache-v1"
    CACHE_V2 = "cache-v2"

    @property
    def server(self) -> ServerVersion:
        """Whose format it is (without meaning for a plane file)."""
        return ServerVersion.V2 if self.value.endswith("v2") else ServerVersion.V1

    @property
    def is_pack(self) -> bool:
        return self in {Container.PACK_V1, Container.PACK_V2}


class Fp4(StrEnum):
    """Which FP4 parts to write beside the 2-bit planes.

    `auto` takes what the source has, else what a whole checkpoint gives, else none. `delta` is the pack that
    a boot from a planes cache keeps its FP4 pool in; it has no 2-bit part.
    """

    AUTO = "auto"
    NONE = "none"
    PLAIN = "plain"
    SPLIT = "split"
    DELTA = "delta"


@dataclass(frozen=True)
class ConvertRequest:
    """What the caller wants; `checkpoint` is a folder, the rest as in the server's identities.

    `tp` ranks share the model and rank `rank` gets its part; None: the part that the source holds.
    """

    source: Path
    to: Container
    out: Path
    checkpoint: Path | None = None
    served_path: str | None = None
    ckpt_id: str | None = None
    revision: str | None = None
    repo: str | None = None
    zero_mode: str | None = None
    fp4: Fp4 = Fp4.AUTO
    force: bool = False
    tp: int | None = None
    rank: int = 0


def check_request(request: ConvertRequest) -> None:
    """Raise UsageError for combinations that can never work."""
    _check_part(request)
    if request.zero_mode is not None and request.zero_mode not in ZERO_MODES:
        raise UsageError(f"zero mode {request.zero_mode!r} does not exist", fix=f"one of {', '.join(ZERO_MODES)}")
    if request.ckpt_id is not None and not request.ckpt_id.strip():
        raise UsageError("--ckpt-id is empty", fix="give the id, or let it be computed with --served-path")
    v1_store = request.to in {Container.PACK_V1, Container.CACHE_V1}
    if v1_store and request.ckpt_id and not _SHA1.fullmatch(request.ckpt_id):
        raise UsageError(
            f"{request.ckpt_id!r} can be no v1 id: those are 40 lower-case hex digits",
            fix="leave --ckpt-id out and give --served-path and --checkpoint",
        )
    if request.to is Container.MOET2PF and request.fp4 not in {Fp4.AUTO, Fp4.NONE}:
        raise UsageError("a plane file holds 2-bit planes only", fix="leave --fp4 out, or convert to a pack or cache")
    if request.fp4 is Fp4.DELTA and not request.to.is_pack:
        raise UsageError("the delta tier lives in a pack, not in a planes cache", fix="use --to pack-v1 or pack-v2")


def _check_part(request: ConvertRequest) -> None:
    if not 0 <= request.rank < (request.tp or 1):
        what = f"rank {request.rank} does not exist " + (f"among {request.tp}" if request.tp else "without --tp")
        raise UsageError(what, fix="give --tp, the number of ranks; --rank counts from 0")
    if request.to is Container.MOET2PF and request.tp not in {None, 1}:
        raise UsageError("a plane file holds whole experts", fix="convert to a pack or cache, or leave --tp out")

"""What the server does not check: skips that fire and should not (planes.md d.4, f.4). Pure."""

from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.pack_gates import Gate, PackFacts, legal_layers
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_facts import SkipFacts
from moet_boot.units import format_bytes

CORRUPT = "its bytes differ from what the checkpoint gives, and the server never verifies contents: wrong answers"
HOLES = "the {what} has unwritten holes inside this layer, and the server never looks: zeros are served silently"
FIX_ABORT = "repair the sidecar's identity (`moet-boot planes convert`) or move the pack away before the boot"
FIX_REBUILD = "make the pack or cache again, and check it with `moet-boot planes diff`"


def abort_danger(tag: SlotKind, gate: Gate) -> str:
    """The skip fires and the store then rejects the pack."""
    fields = ", ".join(gate.failed)
    return (
        f"the skip fires, then the store rejects the {tag} pack ({fields}): the layer's weights are already "
        f"dropped, so the boot aborts, and a v1 server that rebuilds writes over this pack in place"
    )


def pack_danger(facts: SkipFacts, tag: SlotKind, layer: int) -> str | None:
    """Why a layer that this pack serves is not safe, None when nothing speaks against it."""
    pack = facts.packs[tag]
    if facts.server is ServerVersion.V1 and (found := _v1_size_danger(facts, tag, layer)):
        return found
    if layer in pack.hole_layers:
        return HOLES.format(what=f"{tag} pack")
    if layer in pack.damaged_layers:
        return f"{tag} pack: {CORRUPT}"
    return _v1_identity_danger(facts, tag, pack) if facts.server is ServerVersion.V1 else None


def cache_danger(facts: SkipFacts, layer: int) -> str | None:
    """The same for a layer out of the planes cache."""
    if facts.cache is None:
        return None
    if layer in facts.cache.hole_layers:
        return HOLES.format(what="planes cache")
    return f"planes cache: {CORRUPT}" if layer in facts.cache.damaged_layers else None


def _v1_size_danger(facts: SkipFacts, tag: SlotKind, layer: int) -> str | None:
    shape, size = facts.wanted_pack(tag).shape, facts.packs[tag].size
    if size is None:
        return f"the {tag} pack file is missing: the server creates it empty and serves zeros silently"
    if size > shape.file_bytes:
        return f"the {tag} pack is {size - shape.file_bytes} bytes longer than its writer made it: not the same file"
    if size == shape.file_bytes:
        return None
    short = f"the {tag} pack is {format_bytes(shape.file_bytes - size)} short and the server fills it up with zeros"
    if shape.offset(layer + 1, 0) <= size:
        return f"{short}: this layer is inside what is left, but the file was not written or copied whole"
    return f"{short}: rows of this layer are served from zero bytes silently"


def _v1_identity_danger(facts: SkipFacts, tag: SlotKind, pack: PackFacts) -> str | None:
    """What only a v2 server would notice."""
    want, found = facts.wanted_pack(tag).shape, pack.sidecar.get("tag")
    if found != want.tag:
        return f"the sidecar says tag {found!r} where {want.tag!r} is expected, and a v1 server does not look"
    if not legal_layers(pack.sidecar.get("layers"), want.n_layers):
        return "the sidecar's list of layers has doubles or impossible numbers, and a v1 server does not look"
    if facts.settings.zero_mode != "auto":
        mode = facts.settings.zero_mode
        return f"VLLM_MOE_W2_ZERO_MODE={mode} is not part of a v1 pack's identity: rows of another mode are served"
    return None

"""A profile whose artefacts are on a hub of one's own."""

import hashlib
import random
from pathlib import Path

from moet_boot.profile.load import load_profile
from moet_boot.profile.model import Artefact, ArtefactKind, Profile
from testing.plane_file import OWN
from tests.fetch.fake_hub import COMMIT, FakeHub, folder_of
from tests.machine.safetensors_files import write_checkpoint

MODEL = "owner/model"
PLANES = "owner/planes"
MIB = 1 << 20


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that do not compress, the same for a seed."""
    return random.Random(seed).randbytes(size)


def hub_with_model(folder: Path) -> FakeHub:
    """A hub with a checkpoint of three shards and a plane file."""
    files = folder_of(write_checkpoint(folder / "on-the-hub"))
    return FakeHub({MODEL: {**files, "assets/logo.png": b"PNG"}, PLANES: {"p.moet2pf": OWN.read_bytes()}})


def artefact(kind: ArtefactKind, path: str, repo: str | None, **more: object) -> Artefact:
    """An artefact of a profile."""
    return Artefact.model_validate(
        {"kind": kind, "path": path, "repo": repo, "why": "a test", "source": "a test", **more}
    )


CHECKPOINT = artefact(ArtefactKind.CHECKPOINT, "~/models/model", MODEL, revision=COMMIT, shards=3)
PLANE_FILE = artefact(
    ArtefactKind.PLANE_FILE,
    "~/models/planes.moet2pf",
    PLANES,
    file="p.moet2pf",
    size_bytes=OWN.stat().st_size,
    sha256=hashlib.sha256(OWN.read_bytes()).hexdigest(),
)


def profile_with(**artefacts: Artefact) -> Profile:
    """A profile of these artefacts; checkpoint and plane file of the hub's model when none are given."""
    chosen = artefacts or {"checkpoint": CHECKPOINT, "plane_file": PLANE_FILE}
    return load_profile("spark").model_copy(update={"artefacts": chosen})


def profile_file(path: Path, **tables: str) -> Path:
    """A profile of one's own on the disk, over the Spark's: `tables` are artefacts as TOML lines."""
    said = "".join(
        f'[artefacts.{name}]\n{lines}\nwhy = "a test"\nsource = "a test"\n' for name, lines in tables.items()
    )
    head = 'schema = "moet-boot/profile/v1"\nextends = "spark"\nname = "mine"\ntitle = "t"\nsummary = "s"\n'
    path.write_text(head + said)
    return path

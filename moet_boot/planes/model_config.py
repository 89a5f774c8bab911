"""The few facts of a checkpoint's config.json that planes need."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.json_file import FileState, read_json


@dataclass(frozen=True)
class ModelConfig:
    """`geometry` of one rank; `expert_dtype` as the config says it (missing means fp4, a.1)."""

    geometry: Geometry
    expert_dtype: str


def read_model_config(model_dir: Path, tp: int = 1) -> ModelConfig:
    """Read `<model_dir>/config.json`.

    Raises ArtefactMissingError, ArtefactDamagedError, and UsageError when `tp` ranks cannot share the model.
    """
    path = model_dir / "config.json"
    found = read_json(path)
    if found.state is FileState.MISSING:
        raise ArtefactMissingError(
            f"{path} does not exist",
            fix="name the folder where the checkpoint lies (--path checkpoint=DIR with a profile)",
        )
    if not isinstance(found.value, dict):
        what = found.detail or "not a JSON object"
        raise ArtefactDamagedError(f"{path} cannot be used: {what}", fix="download the checkpoint's config.json again")
    config: dict[str, Any] = found.value
    text = config.get("text_config")
    if isinstance(text, dict):
        config = {**config, **text}
    dtype = config.get("expert_dtype") or "fp4"
    return ModelConfig(Geometry.from_config({**config, "expert_dtype": "fp4"}, tp=tp), str(dtype))

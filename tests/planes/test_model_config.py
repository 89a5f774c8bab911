from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.planes.model_config import read_model_config
from testing.skip_cases import CHECKPOINT


def test_the_golden_config() -> None:
    config = read_model_config(CHECKPOINT, tp=2)
    assert (config.geometry.n_layers, config.geometry.inter_rank, config.expert_dtype) == (2, 64, "fp4")


def test_a_folder_without_config_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError, match=r"config\.json"):
        read_model_config(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_a_broken_config_is_damaged(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ArtefactDamagedError, match=r"config\.json"):
        read_model_config(tmp_path)


def test_a_nested_text_config_counts(tmp_path: Path) -> None:
    inner = (CHECKPOINT / "config.json").read_text()
    (tmp_path / "config.json").write_text(f'{{"num_hidden_layers": 99, "text_config": {inner}}}')
    config = read_model_config(tmp_path)
    assert (config.geometry.n_layers, config.expert_dtype) == (2, "fp4")

from pathlib import Path

import pytest

from moet_boot.machine.cdi import parse_spec, read_cdi, without_unique
from tests.machine.trees import tree_of

YAML = """\
---
cdiVersion: 0.5.0
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - args: [nvidia-cdi-hook, create-symlinks]
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- containerEdits: {}
  name: GPU-8932f937-d72c-4106-c12f-20bd9faed9f6
- containerEdits: {}
  name: all
kind: nvidia.com/gpu
"""
JSON = '{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu",\n "devices": [\n{"name": "all",\n "containerEdits": {}}]}'


def test_a_specification_of_the_toolkit() -> None:
    assert parse_spec(YAML) == [
        "nvidia.com/gpu=0",
        "nvidia.com/gpu=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
        "nvidia.com/gpu=all",
    ]


@pytest.mark.parametrize("text", ["", "kind", "name: all", "\x00"])
def test_a_text_that_is_none(text: str) -> None:
    assert parse_spec(text) == []


def test_devices_that_name_the_very_card_are_left_out() -> None:
    devices = ["nvidia.com/gpu=all", "nvidia.com/gpu=GPU-8932f937-d72c", "nvidia.com/gpu=MIG-8932f937-x", "x=0", "x=0"]
    assert without_unique(devices) == ["nvidia.com/gpu=all", "x=0"]


def test_specifications_of_all_folders(tmp_path: Path) -> None:
    files = {"/etc/cdi/nvidia.yaml": YAML, "/var/run/cdi/other.json": JSON, "/etc/cdi/readme.txt": "kind: x\nname: y"}
    assert read_cdi(tree_of(tmp_path, files)) == ["nvidia.com/gpu=0", "nvidia.com/gpu=all"]


def test_a_machine_without_specifications(tmp_path: Path) -> None:
    assert read_cdi(tree_of(tmp_path, {})) == []

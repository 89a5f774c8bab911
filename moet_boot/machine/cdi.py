"""Container Device Interface: the devices that a container may ask for by name."""

import re
from collections.abc import Iterable
from pathlib import Path

from moet_boot.machine.tree import Tree

FOLDERS = ("/etc/cdi", "/var/run/cdi")
_KIND = re.compile(r"""^[\s{]*"?kind"?:\s*"?([\w./-]+)""", re.MULTILINE)
_NAME = re.compile(r"""^[\s{-]*"?name"?:\s*"?([^",\s}]+)""", re.MULTILINE)
_UNIQUE = re.compile(r"=(GPU|MIG)-[0-9a-f]{8}", re.IGNORECASE)
"""Devices are also listed by UUID; those names identify the card."""


def parse_spec(text: str) -> list[str]:
    """The devices of one specification, YAML or JSON as the NVIDIA toolkit writes it: `nvidia.com/gpu=all`."""
    kind = _KIND.search(text)
    return [f"{kind.group(1)}={name}" for name in _NAME.findall(text)] if kind else []


def without_unique(devices: Iterable[str]) -> list[str]:
    """The devices whose names say nothing about the very card."""
    return sorted({device for device in devices if not _UNIQUE.search(device)})


def read_cdi(tree: Tree, folders: Iterable[str] = FOLDERS) -> list[str]:
    """The devices of all specifications in the usual folders; a file that cannot be read offers none."""
    specs = (spec for folder in folders for spec in _specs(tree.path(folder)))
    texts = (tree.text_or_none(str(spec.relative_to(tree.root))) for spec in specs)
    return without_unique(device for text in texts if text for device in parse_spec(text))


def _specs(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.yaml"), *folder.glob("*.yml"), *folder.glob("*.json")])

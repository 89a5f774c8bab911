"""The typed profile: what hardware it is for, every setting with its reason, and the memory of a boot.

A profile is a TOML file (`profiles/NAME.toml`, schema `moet-boot/profile/v1`). All sizes are whole bytes
unless the name ends in `_gib`; GiB is 2**30 bytes. Unknown keys are refused.
"""

from moet_boot.profile.model.basics import Reasoned, Setting, SettingValue, Strict, as_text
from moet_boot.profile.model.machine import (
    Artefact,
    ArtefactKind,
    Container,
    Engine,
    GpuRequirement,
    Hardware,
    MemoryKind,
    Mount,
)
from moet_boot.profile.model.memory import GuardFloors, KvCache, MemoryBudget, MemoryTerm
from moet_boot.profile.model.profile import SCHEMA, Acceptance, Chosen, Curve, Deadline, Profile, Restart, Sampling

__all__ = [
    "SCHEMA",
    "Acceptance",
    "Artefact",
    "ArtefactKind",
    "Chosen",
    "Container",
    "Curve",
    "Deadline",
    "Engine",
    "GpuRequirement",
    "GuardFloors",
    "Hardware",
    "KvCache",
    "MemoryBudget",
    "MemoryKind",
    "MemoryTerm",
    "Mount",
    "Profile",
    "Reasoned",
    "Restart",
    "Sampling",
    "Setting",
    "SettingValue",
    "Strict",
    "as_text",
]

"""How far a skip forecast looks into contents."""

from enum import StrEnum


class ContentsMode(StrEnum):
    """How many slots are compared: none, one of each layer (all of a small model), or all."""

    NONE = "none"
    SAMPLE = "sample"
    FULL = "full"

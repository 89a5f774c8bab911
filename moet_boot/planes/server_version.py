"""The two generations of the server's on-disk formats (planes.md, status of statements)."""

from enum import StrEnum

QUANTIZER_ABI = "tsym4-e8m0-fragmajor-a32-v2"
"""What a v2 server writes for the one quantizer and layout that exist; the bytes are the same in v1."""


class ServerVersion(StrEnum):
    """v1 is vLLM-Moet pull request 16, v2 its main branch; neither looks at the other's files."""

    V1 = "v1"
    V2 = "v2"

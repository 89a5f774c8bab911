"""moet-boot: safe, explainable boots of vLLM-Moet on one small machine."""

__version__ = "0.1.0"

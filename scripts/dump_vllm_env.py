"""Write the names of the environment variables that vLLM reads as JSON, from an installed vLLM.

Run it with the engine's own Python:

    ENGINE_VENV/bin/python scripts/dump_vllm_env.py moet_boot/profile/vllm_env.json
"""

import json
import re
import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    version = re.split(r"[+]", import_module("importlib.metadata").version("vllm"))[0]
    variables = import_module("vllm.envs").environment_variables
    names = sorted(name for name in variables if name.startswith("VLLM_"))
    Path(sys.argv[1]).write_text(json.dumps({"vllm": version, "names": names}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(names)} names of vLLM {version} -> {sys.argv[1]}")


if __name__ == "__main__":
    main()

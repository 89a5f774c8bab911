"""The golden cases of the loader skip: a pristine tree of each server version, and their mutations."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_reader import SkipRequest
from testing.golden import GOLDEN, golden_json

CHECKPOINT = GOLDEN / "iv_ckpt"
V2_CKPT_ID = "golden-checkpoint-id"
CASES: list[dict[str, Any]] = golden_json("vi_cases.json")["cases"]


@dataclass(frozen=True)
class Tree:
    """A store and a planes cache on the disk, valid for the golden checkpoint served as `/model`."""

    root: Path
    server: ServerVersion

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def cache(self) -> Path:
        return self.root / "planes"

    def env(self, **changes: str) -> dict[str, str]:
        """The golden base environment; `changes` are knobs without their common prefix."""
        env = {
            "VLLM_MOE_W2": "1",
            "VLLM_MOE_W2_STORE_DIR": str(self.store),
            "VLLM_MOE_W2_PLANES_CACHE": str(self.cache),
        }
        if self.server is ServerVersion.V2:
            env["VLLM_MOE_W2_CKPT_ID"] = V2_CKPT_ID
        return env | {f"VLLM_MOE_W2_{name}": value for name, value in changes.items()}

    def request(self, env: dict[str, str], model: str = "/model", **more: Any) -> SkipRequest:
        """A boot of the golden checkpoint in this environment."""
        return SkipRequest(env, CHECKPOINT, model, self.server, **more)

    def file(self, name: str) -> Path:
        """The file behind a logical name of the golden cases."""
        if name == "meta":
            return next(self.cache.rglob("meta.json"))
        if name.startswith("part:"):
            layer, part = name.removeprefix("part:").split(".")
            return self.file("meta").with_name(f"layer{layer}.{part}.bin")
        tag, suffix = name.split("_")
        return next(path for path in self.store.glob(f"{tag}.*.{suffix}"))


def make_tree(root: Path, server: ServerVersion) -> Tree:
    """Copy the golden tree of this version."""
    root.mkdir(parents=True)
    if server is ServerVersion.V1:
        for name in ("store", "planes"):
            shutil.copytree(GOLDEN / "vi_store_v1" / name, root / name)
        return Tree(root, server)
    for name, content in golden_json("vi_layout_v2.json")["files"].items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if "text" in content:
            path.write_text(content["text"])
        else:
            shutil.copyfile(GOLDEN / content["same_bytes_as"], path)
    return Tree(root, server)


def case_env(tree: Tree, case: dict[str, Any]) -> dict[str, str]:
    """The environment of a golden case."""
    env = tree.env()
    del env["VLLM_MOE_W2"]
    env |= case["env"]
    return {name: value for name, value in env.items() if name not in case["unset_env"]}


def apply(tree: Tree, operation: Sequence[Any]) -> None:
    """Carry out one mutation of a golden case."""
    name, *arguments = operation
    if name == "del_fp4":
        for part in list(tree.cache.rglob("layer*.fp*.bin")):
            part.unlink()
    elif name == "rename_rank":
        folder = tree.file("meta").parent
        folder.rename(folder.with_name(arguments[0]))
    elif name in {"delete", "text", "truncate", "append", "flip"}:
        _change_bytes(tree.file(arguments[0]), name, *arguments[1:])
    else:
        _change_json(tree.file(arguments[0]), name, *arguments[1:])


def _change_json(path: Path, name: str, *arguments: Any) -> None:
    value = json.loads(path.read_text())
    if name == "layers":
        value["layers"] = arguments[0]
    elif name == "json_set":
        value[arguments[0]] = arguments[1]
    elif name == "json_add":
        value[arguments[0]] += arguments[1]
    elif name == "json_del":
        del value[arguments[0]]
    else:
        raise AssertionError(name)
    path.write_text(json.dumps(value))


def _change_bytes(path: Path, name: str, *arguments: Any) -> None:
    if name == "delete":
        path.unlink()
    elif name == "text":
        path.write_text(arguments[0])
    elif name in {"truncate", "append"}:
        with path.open("ab") as file:
            file.write(bytes(max(arguments[0], 0)))
        os.truncate(path, path.stat().st_size + min(arguments[0], 0))
    else:
        flip(path, arguments[0])


def flip(path: Path, offset: int) -> None:
    """Flip the lowest bit of one byte."""
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))

"""A base image without any registry: this machine's Python and a few programs, with the libraries they need."""

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pydantic_core

PROGRAMS = ("sh", "cat", "chmod", "cp", "env", "id", "ln", "mkdir", "rm", "sleep", "true")
LEFT_OUT = {
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "lib2to3",
    "site-packages",
    "dist-packages",
}
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")


def base_archive() -> bytes:
    """The tar of the image's only layer: paths as on this machine, `/usr/local/bin/python3` leads to the Python."""
    python = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}").resolve()
    stdlib = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}))
    programs = [Path(found) for name in PROGRAMS if (found := shutil.which(name))]
    # vLLM's images have what compiled wheels need; so must this one
    wheels = Path(pydantic_core.__file__).parent.glob("*.so")
    modules = [*sorted((stdlib / "lib-dynload").glob("*.so")), *wheels]
    image = _Tree()
    for path in [*programs, python, *libraries([*programs, python, *modules])]:
        image.add(path)
    image.add_folder(stdlib)
    image.link(Path("/usr/local/bin/python3"), python)
    for name, mode in (("tmp", 0o1777), ("var", 0o755), ("run", 0o755), ("root", 0o755), ("etc", 0o755)):
        image.folder(Path("/", name), mode)
    image.text(Path("/etc/passwd"), "root:x:0:0::/root:/bin/sh\nserver:x:1000:1000::/tmp:/bin/sh\n")
    return image.close()


def libraries(binaries: Iterable[Path]) -> list[Path]:
    """All shared libraries of these binaries, the loader too."""
    done = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False)
    return sorted({Path(found) for found in _LIBRARY.findall(done.stdout)})


class _Tree:
    """A tar in the making; folders that are links on this machine (/bin, /lib) are links in it."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._buffer, mode="w")  # noqa: SIM115  (closed by close)
        self._seen: set[Path] = set()
        for name in ("bin", "lib", "lib64", "sbin"):
            path = Path("/", name)
            if path.is_symlink():
                self.link(path, path.readlink())

    def add(self, path: Path) -> None:
        """A file, with every link on the way to it."""
        path = path.parent.resolve() / path.name
        if path in self._seen:
            return
        self._seen.add(path)
        self._put(path)
        if path.is_symlink():
            self.add(path.parent / path.readlink())

    def add_folder(self, folder: Path) -> None:
        """A folder with all below it, without what no server needs."""
        for root, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("config-"))
            for name in sorted(files):
                self.add(Path(root, name))

    def link(self, path: Path, target: Path) -> None:
        entry = tarfile.TarInfo(str(path).lstrip("/"))
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, str(target), 0o777
        self._tar.addfile(entry)

    def folder(self, path: Path, mode: int) -> None:
        entry = tarfile.TarInfo(str(path).lstrip("/"))
        entry.type, entry.mode = tarfile.DIRTYPE, mode
        self._tar.addfile(entry)

    def text(self, path: Path, content: str) -> None:
        data = content.encode()
        entry = tarfile.TarInfo(str(path).lstrip("/"))
        entry.size, entry.mode = len(data), 0o644
        self._tar.addfile(entry, io.BytesIO(data))

    def close(self) -> bytes:
        self._tar.close()
        return self._buffer.getvalue()

    def _put(self, path: Path) -> None:
        entry = self._tar.gettarinfo(str(path), str(path).lstrip("/"))
        entry.uid = entry.gid = 0
        entry.mode |= 0o444
        if entry.isreg():
            with path.open("rb") as content:
                self._tar.addfile(entry, content)
        else:
            self._tar.addfile(entry)

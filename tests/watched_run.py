"""Run one moet-boot command in this process and report everything that it tried to change (see test_read_only)."""

import json
import os
import sys
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate"),
    *("os.utime", "os.setxattr", "os.removexattr", "os.killpg", "signal.pthread_kill", "os.system", "os.exec"),
    *("os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "shutil.rmtree", "shutil.move", "shutil.copyfile"),
    *("tempfile.mkstemp", "tempfile.mkdtemp", "resource.setrlimit", "resource.prlimit"),
}


def change_of(event: str, args: tuple[Any, ...]) -> str | None:
    """What an audit event changes, in words; None if it only looks."""
    if event == "open":
        path, _, flags = args
        # a number is a descriptor that somebody has opened before
        writes = isinstance(flags, int) and flags & WRITING and not isinstance(path, int)
        return f"open {path!r} for writing" if writes and path != os.devnull else None
    if event == "os.kill":
        # signal 0 asks whether a process lives
        return f"kill {args}" if args[1] else None
    if event == "subprocess.Popen":
        return f"run {' '.join(map(str, args[1]))}"
    return f"{event} {args}" if event in CHANGES else None


def main() -> None:
    """Import everything first, so that only the command itself is watched."""
    from moet_boot.cli.main import run

    seen: list[str] = []
    report = sys.stderr

    def watch(event: str, args: tuple[Any, ...]) -> None:
        change = change_of(event, args)
        if change is not None:
            seen.append(change)

    sys.addaudithook(watch)
    code = run(sys.argv[1:])
    report.write("\n" + json.dumps({"code": code, "changes": seen}) + "\n")


if __name__ == "__main__":
    main()

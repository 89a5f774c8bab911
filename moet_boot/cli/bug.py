"""The log that an unexpected exception leaves behind."""

import platform
import sys
import tempfile
import time
import traceback
from pathlib import Path

from moet_boot import __version__


def write_bug_log(bug: Exception, argv: list[str]) -> Path:
    """Write version, command and traceback to a file of the user's own and return its path."""
    folder = Path(tempfile.mkdtemp(prefix="moet-boot-bug-"))
    path = folder / f"bug-{time.strftime('%Y%m%d-%H%M%S')}.log"
    lines = [
        f"moet-boot {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"command: {' '.join(argv)}",
        f"executable: {sys.executable}",
        "",
        "".join(traceback.format_exception(bug)),
    ]
    path.write_text("\n".join(lines), encoding="utf-8", errors="backslashreplace")
    return path

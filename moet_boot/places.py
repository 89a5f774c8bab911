"""Where moet-boot keeps its files: XDG folders for a user, /var/lib and /run as root."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import platformdirs

from moet_boot.errors import MoetBootError

APP = "moet-boot"


def state_dir() -> Path:
    """Receipts, logs, stamps: `MOET_BOOT_STATE_DIR`, /var/lib/moet-boot as root, else XDG's state folder."""
    return _place("MOET_BOOT_STATE_DIR", Path("/var/lib") / APP, platformdirs.user_state_path)


def runtime_dir() -> Path:
    """Locks and status: `MOET_BOOT_RUNTIME_DIR`, /run/moet-boot as root, else the user's runtime folder."""
    return _place("MOET_BOOT_RUNTIME_DIR", Path("/run") / APP, platformdirs.user_runtime_path)


def config_files() -> list[Path]:
    """Config files from the strongest to the weakest: the one given, the user's, the system's."""
    given = os.environ.get("MOET_BOOT_CONFIG")
    files = [platformdirs.user_config_path(APP) / "config.toml", Path("/etc") / APP / "config.toml"]
    return [Path(given), *files] if given else files


def made(folder: Path) -> Path:
    """The folder, created if need be.

    Raises MoetBootError when it cannot be created or written, naming the variable that moves it.
    """
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise MoetBootError(
            f"cannot create {folder}: {error.strerror or error}",
            fix="set MOET_BOOT_STATE_DIR and MOET_BOOT_RUNTIME_DIR to folders that you may write to",
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise MoetBootError(
            f"cannot write to {folder}: it belongs to somebody else",
            fix="set MOET_BOOT_STATE_DIR and MOET_BOOT_RUNTIME_DIR to folders that you may write to",
        )
    return folder


def use_writable_temp() -> None:
    """Where no usual folder for temporary files can be written (a read-only root), use one beside locks and status.

    For this process and, by TMPDIR, for the server that it starts. Raises MoetBootError when that cannot be written.
    """
    import tempfile  # noqa: PLC0415  (slow to import, and few commands need it)

    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        os.environ["TMPDIR"] = str(made(runtime_dir() / "tmp"))


def _place(variable: str, as_root: Path, as_user: Callable[[str], Path]) -> Path:
    given = os.environ.get(variable)
    if given:
        return Path(given).expanduser().absolute()
    if os.geteuid() == 0:
        return as_root
    with warnings.catch_warnings():
        # without XDG_RUNTIME_DIR platformdirs falls back below /tmp and says so each time
        warnings.simplefilter("ignore")
        return as_user(APP)

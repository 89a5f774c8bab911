"""Messages to systemd (`Type=notify`): sd_notify(3) over a datagram socket."""

import os
import socket
from collections.abc import Mapping


class SystemdNotifier:
    """Sends state to the socket that systemd named; does nothing when there is none. Never raises."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self.watchdog_s = _watchdog_seconds(environment)
        """How often `WATCHDOG=1` must arrive at least, or None."""

    def send(self, *lines: str) -> bool:
        """Send lines such as `READY=1`; returns whether they went out."""
        if not self._address.startswith(("/", "@")):
            return False
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.setblocking(False)
                channel.connect(address)
                channel.sendall("\n".join(lines).encode())
        except OSError:
            return False
        return True


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        microseconds = int(environment.get("WATCHDOG_USEC", ""))
    except ValueError:
        return None
    # half of the limit, as sd_watchdog_enabled(3) advises
    return microseconds / 2e6 if microseconds > 0 else None

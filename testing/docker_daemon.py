"""A Docker daemon of our own for tests: own socket, own folders, no network, gone at the end."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import docker
import psutil
from docker.errors import DockerException

INSTALL = "run scripts/with_docker, or as root: apt-get install -y docker.io"
UP_S = 90.0
DOWN_S = 90.0


class DockerDaemon:
    """One dockerd in `folder`. Needs root and Debian's docker.io (or another dockerd with containerd and runc)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *flags: str) -> None:
        """Start it and wait until it answers; fails with what is missing, or with the end of its log."""
        if shutil.which("dockerd") is None:
            raise AssertionError(f"there is no dockerd on this machine: {INSTALL}")
        if os.geteuid() != 0:
            raise AssertionError("these tests start a dockerd of their own, which needs root")
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "docker.pid").unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command(*flags), stdout=log, stderr=log, start_new_session=True)
        self._wait_until_up()

    def stop(self) -> None:
        """TERM and wait: it ends its containers, unless it runs with --live-restore."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """KILL, it and its containerd: they end nothing any more."""
        below = psutil.Process(self._process.pid).children() if self._process else []
        self._end(signal.SIGKILL)
        for process in below:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        # the next daemon would take a containerd that is about to die for one that runs
        psutil.wait_procs(below, timeout=DOWN_S)

    def freeze(self) -> None:
        """Let it hang: it accepts connections and answers none."""
        self._signal(signal.SIGSTOP)

    @property
    def running(self) -> bool:
        """Whether it was started and not ended."""
        return self._process is not None

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def client(self) -> docker.DockerClient:
        """A client of this daemon; the caller closes it."""
        return docker.DockerClient(base_url=self.address, timeout=120)

    def remove_all(self) -> None:
        """Remove every container."""
        client = self.client()
        try:
            for container in client.containers.list(all=True, ignore_removed=True):
                with suppress(DockerException):
                    container.remove(force=True, v=True)
        finally:
            client.close()

    def erase(self) -> None:
        """End it and remove its folder, with what a killed daemon left mounted there."""
        self.kill()
        mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
        for point in sorted((point for point in mounted if point.startswith(f"{self.folder}/")), reverse=True):
            subprocess.run(["umount", "--lazy", point], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _log(self) -> Path:
        return self.folder / "dockerd.log"

    def _command(self, *flags: str) -> list[str]:
        return [
            "dockerd",
            *("--host", self.address),
            *("--data-root", str(self.folder / "data")),
            *("--exec-root", str(self.folder / "exec")),
            *("--pidfile", str(self.folder / "docker.pid")),
            "--storage-driver=overlay2",
            *("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
            *flags,
        ]

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + UP_S
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                break
            if self._answers():
                return
            time.sleep(0.1)
        self.kill()
        raise AssertionError(f"dockerd does not come up: {self._log.read_text(errors='replace')[-2000:]}")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as line, suppress(OSError):
            line.settimeout(2)
            line.connect(str(self.folder / "docker.sock"))
            line.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return line.recv(64).startswith(b"HTTP/1.0 200")
        return False

    def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        process.send_signal(signal.SIGCONT)
        process.send_signal(number)
        process.wait(DOWN_S)
        self._process = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

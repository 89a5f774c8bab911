import platform
import struct
import time
from pathlib import Path

import pytest

from moet_boot.machine import host
from moet_boot.machine.tree import Tree, UnreadError
from tests.machine.trees import tree_of

UBUNTU = 'PRETTY_NAME="Ubuntu 24.04.2 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n# comment = x\nBAD LINE\n'


@pytest.mark.parametrize(
    ("cmdline", "kept"),
    [
        ("BOOT_IMAGE=/vmlinuz root=UUID=8f0a-11 ro quiet splash", "ro quiet splash"),
        ("ro quiet amd_iommu=on", "ro quiet amd_iommu=on"),
        ("intel_iommu=on iommu=pt iommu.passthrough=1", "intel_iommu=on iommu=pt"),
        ("kho=off cma=64M hugepages=512 default_hugepagesz=1G", "kho=off cma=64M hugepages=512 default_hugepagesz=1G"),
        ("ip=192.168.1.5 netroot=nas hostname=secret systemd.machine_id=abc rd.luks.uuid=1", ""),
        ("psi=0 cgroup_disable=memory nvidia.NVreg_X=1 nvidia-drm.modeset=1", None),
        ("", ""),
    ],
)
def test_boot_options_that_identify_are_left_out(cmdline: str, kept: str | None) -> None:
    assert host.keep_options(cmdline) == (cmdline if kept is None else kept)


def test_the_distribution(tmp_path: Path) -> None:
    facts = host.read_os(tree_of(tmp_path, {"/etc/os-release": UBUNTU}))
    assert (facts.id, facts.version, facts.wsl) == ("ubuntu", "24.04", False)


def test_the_file_of_a_distribution_without_etc(tmp_path: Path) -> None:
    assert host.read_os(tree_of(tmp_path, {"/usr/lib/os-release": "ID='arch'\n"})).id == "arch"


def test_no_distribution_is_no_error(tmp_path: Path) -> None:
    facts = host.read_os(tree_of(tmp_path, {}))
    assert (facts.id, facts.version) == (None, None)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"/proc/sys/kernel/osrelease": "6.6.87.2-microsoft-standard-WSL2"}, id="stock-kernel"),
        pytest.param({"/proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft"}, id="wsl1"),
        pytest.param({"/proc/sys/kernel/osrelease": "6.6.1", "/dev/dxg": ""}, id="own-kernel-with-gpu"),
        pytest.param({"/proc/sys/fs/binfmt_misc/WSLInterop": "enabled"}, id="own-kernel"),
    ],
)
def test_below_windows(tmp_path: Path, files: dict[str, str]) -> None:
    assert host.read_os(tree_of(tmp_path, files)).wsl


def test_uptime(tmp_path: Path) -> None:
    assert host.read_uptime(tree_of(tmp_path, {"/proc/uptime": "604800.25 1200000.00\n"})) == 604800.25


@pytest.mark.parametrize("text", ["", "soon 5"])
def test_an_uptime_that_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadError, match="no seconds"):
        host.read_uptime(tree_of(tmp_path, {"/proc/uptime": text}))


def test_this_machine() -> None:
    assert host.read_arch() == platform.machine()
    assert host.read_kernel(Tree()) == platform.release()
    assert host.read_cpus() >= 1
    assert host.read_uptime(Tree()) > 0


def test_the_clock_of_this_machine() -> None:
    clock = host.read_clock()
    assert clock.year == time.gmtime().tm_year
    assert clock.ntp_synchronized in {True, False}


def test_a_machine_of_another_layout_does_not_tell_about_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(struct, "calcsize", lambda _: 4)
    assert host.read_clock().ntp_synchronized is None

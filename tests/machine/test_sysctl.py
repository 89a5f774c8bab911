from pathlib import Path

import pytest

from moet_boot.machine.sysctl import parse_choice, read_sysctl, read_thp
from moet_boot.machine.tree import Tree, UnreadError
from tests.machine.trees import tree_of


def test_settings_as_numbers(tmp_path: Path) -> None:
    files = {
        "/proc/sys/vm/min_free_kbytes": "4194304\n",
        "/proc/sys/vm/swappiness": "60\n",
        "/proc/sys/vm/overcommit_memory": "",
        "/proc/sys/vm/nr_hugepages": "not a number",
        "/proc/sys/vm/panic_on_oom": "-1",
    }
    assert read_sysctl(tree_of(tmp_path, files)) == {
        "vm.min_free_kbytes": 4194304,
        "vm.swappiness": 60,
        "vm.panic_on_oom": -1,
    }


def test_a_machine_that_shows_none(tmp_path: Path) -> None:
    with pytest.raises(UnreadError, match="none of the memory settings"):
        read_sysctl(tree_of(tmp_path, {}))


def test_this_machine() -> None:
    assert read_sysctl(Tree())["vm.min_free_kbytes"] > 0


@pytest.mark.parametrize("policy", ["always", "madvise", "never"])
def test_the_huge_page_policy(tmp_path: Path, policy: str) -> None:
    text = " ".join(f"[{word}]" if word == policy else word for word in ("always", "madvise", "never"))
    files = {"/sys/kernel/mm/transparent_hugepage/enabled": text}
    assert read_thp(tree_of(tmp_path, files)) == policy


def test_no_choice_is_marked() -> None:
    with pytest.raises(UnreadError, match="no choice"):
        parse_choice("always never")

import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pydantic import ValidationError

from moet_boot.errors import ArtefactMissingError
from moet_boot.machine import readers as all_readers
from moet_boot.machine.load import load_snapshot
from moet_boot.machine.readers import Reader
from moet_boot.machine.record import assemble, collect, reason, record
from moet_boot.machine.request import Place, SnapshotRequest
from moet_boot.machine.save import save_snapshot
from moet_boot.machine.snapshot import SCHEMA, Container, Docker, FileFacts, MemInfo, Port, Snapshot
from moet_boot.machine.stores import StoresSummary, StoreSummary
from moet_boot.machine.tree import Tree, UnreadError
from moet_boot.profile.model import ArtefactKind
from tests.machine.safetensors_files import write_checkpoint

NOTHING = SnapshotRequest()


def raising(failure: Exception) -> Any:
    def read() -> NoReturn:
        raise failure

    return read


def test_what_readers_give_is_sorted_by_group() -> None:
    readers = [Reader("a", lambda: 1), Reader("fs", lambda: 2, key="root"), Reader("fs", lambda: 3, key="shm")]
    assert collect(readers) == ({"a": 1, "fs": {"root": 2, "shm": 3}}, {})


def test_a_reader_that_fails_hides_no_other() -> None:
    readers = [Reader("a", raising(UnreadError("why"))), Reader("fs", raising(OSError(5, "I/O", "/x")), key="root")]
    groups, errors = collect([*readers, Reader("fs", lambda: 3, key="shm")])
    assert groups == {"fs": {"shm": 3}}
    assert errors == {"a": "why", "fs.root": "/x: I/O"}


def test_a_reader_that_hangs_costs_its_deadline_and_no_more() -> None:
    forever = threading.Event()
    readers = [Reader("a", forever.wait, 0.05), Reader("b", forever.wait, 0.05), Reader("c", lambda: 1, 30.0)]
    groups, errors = collect(readers)
    assert not forever.is_set()
    assert groups == {"c": 1}
    assert errors == {"a": "no answer in 0.05 s", "b": "no answer in 0.05 s"}
    forever.set()


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (UnreadError("in words"), "in words"),
        (PermissionError(13, "Permission denied", "/dev/kmsg"), "/dev/kmsg: Permission denied"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (OSError("odd"), "OSError: odd"),
        (ArtefactMissingError("/x does not exist", fix="fetch it"), "/x does not exist"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
def test_reasons(failure: Exception, words: str) -> None:
    assert reason(failure) == words


def test_the_reason_of_figures_that_contradict_each_other() -> None:
    with pytest.raises(ValidationError) as caught:
        MemInfo.model_validate({"MemTotal": 5, "MemFree": 6})
    assert reason(caught.value) == "MemFree is 6 kB, more than MemTotal (5 kB)"


def test_layers_of_stores_are_joined_to_their_folders() -> None:
    places = (Place("cache", ArtefactKind.PLANES_CACHE, "/c"), Place("pack", ArtefactKind.PACK_STORE, "/s"))
    files = {place.name: FileFacts(name=place.name, path=place.path, dir=True) for place in places}
    stores = StoresSummary(StoreSummary(43, 43), StoreSummary(40, 43))
    snapshot = assemble({"files": files, "stores": stores}, {}, SnapshotRequest(places), Tree())
    assert snapshot.files is not None
    assert [(file.name, file.complete) for file in snapshot.files] == [("cache", True), ("pack", False)]


def test_without_a_summary_completeness_stays_open() -> None:
    places = (Place("cache", ArtefactKind.PLANES_CACHE, "/c"),)
    files = {"cache": FileFacts(name="cache", path="/c", dir=True)}
    snapshot = assemble({"files": files}, {"stores": "why"}, SnapshotRequest(places), Tree())
    assert snapshot.files is not None
    assert snapshot.files[0].complete is None


def test_ports_are_joined_to_the_containers_that_publish_them() -> None:
    docker = Docker(present=True, containers=[Container(name="c", state="running", ports=[8001])])
    snapshot = assemble({"docker": docker, "ports_in_use": [Port(port=8001)]}, {}, NOTHING, Tree())
    assert snapshot.ports_in_use is not None
    assert snapshot.ports_in_use[0].container == "c"


@pytest.mark.parametrize("missing", ["docker", "ports_in_use"])
def test_one_of_two_that_are_joined_may_be_missing(missing: str) -> None:
    groups = {"docker": Docker(present=False), "ports_in_use": [Port(port=1)]}
    snapshot = assemble({name: group for name, group in groups.items() if name != missing}, {}, NOTHING, Tree())
    assert getattr(snapshot, missing) is None


def answers_in_time(snapshot: Snapshot) -> bool:
    return not any(reason.startswith("no answer in") for reason in snapshot.errors.values())


def test_this_machine(tmp_path: Path) -> None:
    # other work may keep the machine busy for seconds: then once more
    snapshot = next(seen for seen in (record() for _ in range(5)) if answers_in_time(seen))
    assert snapshot.schema_ == SCHEMA
    for group in ("meminfo", "swaps", "vmstat", "sysctl", "limits", "arch", "kernel", "os", "fs", "processes", "env"):
        assert getattr(snapshot, group) is not None, group
    assert set(snapshot.errors) <= {"last_boot", "kernel_log", "pressure", "nvml", "cgroup", "buddyinfo", "thp"}
    assert load_snapshot(save_snapshot(snapshot, tmp_path / "s.json")) == snapshot


def test_readers_run_side_by_side() -> None:
    everybody = threading.Barrier(4)
    groups, errors = collect([Reader(str(n), lambda: everybody.wait(30), 30.0) for n in range(4)])
    assert (len(groups), errors) == (4, {})


def test_a_machine_that_shows_nothing_is_a_snapshot_with_reasons(tmp_path: Path) -> None:
    snapshot = record(tree=Tree(tmp_path))
    assert snapshot.meminfo is None
    for group in ("meminfo", "swaps", "pressure", "vmstat", "buddyinfo", "sysctl", "cgroup", "limits", "kernel_log"):
        assert snapshot.errors[group]
    assert snapshot.errors["meminfo"].endswith("/proc/meminfo: No such file or directory")


def test_a_wedged_driver_does_not_stop_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()
    monkeypatch.setattr(all_readers, "read_gpus", lambda *_: forever.wait())
    monkeypatch.setattr(all_readers, "NVML_S", -2.9)
    snapshot = record()
    assert snapshot.nvml is None
    assert "no answer" in snapshot.errors["nvml"]
    assert snapshot.meminfo is not None
    forever.set()


def test_the_artefacts_of_a_boot(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    places = (
        Place("checkpoint", ArtefactKind.CHECKPOINT, str(folder)),
        Place("planes", ArtefactKind.PLANE_FILE, str(tmp_path / "absent.moet2pf")),
    )
    snapshot = record(SnapshotRequest(places, engine_command=(str(tmp_path / "vllm"),)))
    assert snapshot.checkpoint is not None
    assert snapshot.checkpoint.shards_present == 3
    assert snapshot.files is not None
    assert [(file.name, file.exists) for file in snapshot.files] == [("planes", False)]
    assert snapshot.fs is not None
    assert (snapshot.fs["model"].exists, snapshot.fs["plane"].exists) == (True, False)
    assert snapshot.engine is not None
    assert snapshot.engine.executable is False


def test_recording_changes_nothing_on_the_disk(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "m")
    before = {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]}
    record(SnapshotRequest((Place("checkpoint", ArtefactKind.CHECKPOINT, str(folder)),)))
    assert {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]} == before

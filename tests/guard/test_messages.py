"""The line between supervisor and guard, and the diary."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.errors import MoetBootError
from moet_boot.guard.config import GuardConfig
from moet_boot.guard.events import Diary, read_events
from moet_boot.guard.messages import GuardEvent, Line, Target, line_pair, target_of, target_words
from moet_boot.phases import Phase
from tests.guard.scenes import SPARK

EVENTS = st.builds(GuardEvent, st.floats(0, 1e9), st.text(max_size=20), st.text(max_size=200))


@pytest.fixture
def ends() -> Iterator[tuple[Line, Line]]:
    ours, theirs = line_pair()
    both = Line(ours), Line(theirs)
    yield both
    for end in both:
        end.close()


class TestLine:
    def test_packets_arrive_whole_and_in_order(self, ends: tuple[Line, Line]) -> None:
        for i in range(5):
            assert ends[0].say(number=i)
        assert [words["number"] for words in ends[1].heard()] == [0, 1, 2, 3, 4]
        assert list(ends[1].heard()) == []
        assert ends[1].open

    def test_the_end_of_the_other_is_seen(self, ends: tuple[Line, Line]) -> None:
        ends[0].say(last="words")
        ends[0].close()
        assert [words["last"] for words in ends[1].heard()] == ["words"]
        assert not ends[1].open
        assert not ends[1].say(anybody="there")

    def test_who_does_not_listen_holds_nobody_up(self, ends: tuple[Line, Line]) -> None:
        said = 0
        while ends[0].say(beat="x" * 1000):
            said += 1
        assert said > 10
        assert ends[0].open
        assert len(list(ends[1].heard())) == said
        assert ends[0].say(beat=1)

    def test_what_is_no_object_is_not_heard(self, ends: tuple[Line, Line]) -> None:
        os.write(ends[0].fileno(), b"[1]")
        ends[0].say(a=1)
        assert list(ends[1].heard()) == [{"a": 1}]


@given(st.lists(st.integers(1, 1 << 22), max_size=5), st.booleans(), st.none() | st.text(max_size=20))
def test_targets_travel(pids: list[int], leashed: bool, cgroup: str | None) -> None:
    target = Target(tuple(pids), leashed, cgroup)
    assert target_of(json.loads(json.dumps(target_words(target)))) == target


def test_configs_travel() -> None:
    config = GuardConfig(SPARK, Path("/x/s"), Path("/x/e.ndjson"), True, 12.5, Phase.SERVING, (3, 4))
    assert GuardConfig.from_json(config.to_json()) == config
    assert GuardConfig.from_json(GuardConfig(SPARK, Path("s"), Path("e")).to_json()).origin_s is None
    assert config.errors_path == Path("/x/e.err")


class TestDiary:
    @settings(deadline=None)
    @given(st.lists(EVENTS, max_size=8))
    def test_events_come_back(self, tmp_path_factory: pytest.TempPathFactory, events: list[GuardEvent]) -> None:
        path = tmp_path_factory.getbasetemp() / "diary.ndjson"
        path.unlink(missing_ok=True)
        diary = Diary(path)
        for event in events:
            diary.note(event)
        diary.close()
        assert read_events(path) == events

    def test_it_goes_on_where_an_earlier_one_ended(self, tmp_path: Path) -> None:
        for i in range(2):
            diary = Diary(tmp_path / "d")
            diary.note(GuardEvent(i, "kill", "because"))
            diary.close()
        assert [event.at_s for event in read_events(tmp_path / "d")] == [0.0, 1.0]

    def test_the_supervisor_hears_it_too(self, tmp_path: Path, ends: tuple[Line, Line]) -> None:
        Diary(tmp_path / "d", ends[0]).note(GuardEvent(1.5, "kill", "because"))
        assert [words["event"]["action"] for words in ends[1].heard()] == ["kill"]

    def test_what_is_only_told_is_not_written(self, tmp_path: Path, ends: tuple[Line, Line]) -> None:
        Diary(tmp_path / "d", ends[0]).tell(GuardEvent(1.5, "problem", "the disk is full"))
        assert [words["event"]["action"] for words in ends[1].heard()] == ["problem"]
        assert read_events(tmp_path / "d") == []

    def test_a_line_that_was_cut_off_is_left_out(self, tmp_path: Path) -> None:
        path = tmp_path / "d"
        Diary(path).note(GuardEvent(1.0, "kill", "because"))
        with path.open("ab") as file:
            file.write(b'{"at_s": 2.0, "act')
        assert len(read_events(path)) == 1

    @pytest.mark.parametrize("line", ["7", "[]", '{"at_s": "x", "action": "a", "reason": "b"}', "{}", "\udcff"])
    def test_other_lines_are_left_out(self, tmp_path: Path, line: str) -> None:
        path = tmp_path / "d"
        path.write_bytes(line.encode(errors="surrogateescape") + b"\n")
        assert read_events(path) == []

    def test_no_diary_no_events(self, tmp_path: Path) -> None:
        assert read_events(tmp_path / "d") == []

    def test_a_folder_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(MoetBootError, match="cannot write the guard's events"):
            Diary(tmp_path / "no" / "d")

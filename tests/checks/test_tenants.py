import pytest

from moet_boot.checks.tenants import attributed_bytes, looks_like_engine, tenants
from moet_boot.machine.snapshot import Gpu, GpuProcess, ProcessFacts

MIB = 1 << 20


def card(*processes: GpuProcess, index: int = 0) -> Gpu:
    return Gpu(index=index, processes=list(processes))


@pytest.mark.parametrize(
    ("process", "counts"),
    [
        pytest.param(GpuProcess(pid=1, name="/usr/lib/xorg/Xorg", used=18 * MIB), False, id="xorg"),
        pytest.param(GpuProcess(pid=1, name="gnome-shell", used=None), False, id="display-without-a-figure"),
        pytest.param(
            GpuProcess(pid=1, name="blender", used=None, kind="graphics"), False, id="graphics-without-figure"
        ),
        pytest.param(GpuProcess(pid=1, name="Xorg", used=900 * MIB), True, id="a-display-that-takes-much"),
        pytest.param(GpuProcess(pid=1, name="python3", used=200 * MIB), False, id="small-process"),
        pytest.param(GpuProcess(pid=1, name="python3", used=600 * MIB), True, id="large-process"),
        pytest.param(GpuProcess(pid=1, name="python3", used=None), True, id="process-without-a-figure"),
        pytest.param(GpuProcess(pid=1, name="VLLM::EngineCore", used=9 * MIB), True, id="an-engine-that-sleeps"),
        pytest.param(GpuProcess(pid=1, name="/usr/bin/ollama", used=9 * MIB), True, id="another-engine"),
        pytest.param(GpuProcess(pid=1, name="python3", used=60_000 * MIB, alive=False), False, id="dead"),
    ],
)
def test_who_is_a_tenant(process: GpuProcess, counts: bool) -> None:
    assert bool(tenants([card(process)])) is counts


def test_the_largest_comes_first_with_its_card() -> None:
    small = GpuProcess(pid=1, name="a", used=600 * MIB)
    large = GpuProcess(pid=2, name="b", used=2048 * MIB)
    found = tenants([card(small), card(large, index=1)])
    assert [(t.pid, t.gpu) for t in found] == [(2, 1), (1, 0)]
    assert str(found[0]) == "b (pid 2, 2.00 GiB on GPU 1)"


def test_a_tenant_without_a_name_or_figure_still_reads_well() -> None:
    (found,) = tenants([card(GpuProcess(pid=7, used=None))])
    assert str(found) == "a process (pid 7, unknown amount on GPU 0)"


def test_what_live_processes_answer_for() -> None:
    dead = GpuProcess(pid=3, name="c", used=7, alive=False)
    cards = [card(GpuProcess(pid=1, used=5), GpuProcess(pid=2, used=None), dead)]
    assert attributed_bytes(cards) == 5


@pytest.mark.parametrize(("name", "engine"), [("VLLM::EngineCor", True), ("sglang::scheduler", True), ("sshd", False)])
def test_engines_by_name(name: str, engine: bool) -> None:
    assert looks_like_engine(ProcessFacts(name=name)) is engine

"""The Linux calls, each in a process of its own: what they change cannot be taken back."""

import os
import signal
import subprocess
import sys

import pytest

from moet_boot.guard.isolated import isolated
from moet_boot.guard.processes import read_process
from tests.guard.unruly import until


def outcome(code: str) -> str:
    program = f"import os, sys, time\nfrom moet_boot.guard import linux\n{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


STATUS = "dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)"


def test_locked_memory() -> None:
    locked = outcome(f"code = linux.lock_memory(); print(code, int({STATUS}['VmLck'].split()[0]) > 1000)")
    assert locked in {"0 True", "12 False", "1 False"}, "locked, or the errno of a limit"
    if os.geteuid() == 0:
        assert locked == "0 True"


def test_a_name() -> None:
    assert outcome("print(linux.set_process_name('moet-guard-name-that-is-long'))") == "0"
    assert outcome("linux.set_process_name('moet-guard'); print(open('/proc/self/comm').read())") == "moet-guard"


@pytest.mark.parametrize("extra", [[], ["python", "vllm"], ["x" * 100_000]], ids=["few words", "some", "many"])
def test_the_name_stands_for_the_arguments_too(extra: list[str]) -> None:
    program = (
        "import os, sys; from moet_boot.guard import linux; linux.set_process_name('moet-guard')\n"
        "print(open('/proc/self/cmdline').read().rstrip(chr(0)), len(sys.argv), os.environ['KEPT'])"
    )
    command = [sys.executable, "-c", program, *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "KEPT": "kept"})
    assert done.stdout.split() == ["moet-guard", str(len(extra) + 1), "kept"]


def test_a_raised_score_is_always_accepted() -> None:
    assert outcome("print(linux.set_oom_score_adj(800), open('/proc/self/oom_score_adj').read())") == "800 800"


def test_the_first_acceptable_score_is_taken() -> None:
    assert outcome("print(linux.set_oom_score_adj(5000, 900))") == "900"
    assert outcome("print(linux.set_oom_score_adj(5000))") == "None"


def test_being_scheduled_first() -> None:
    policies = outcome(
        "print(linux.run_first(), os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK, os.getpriority(0, 0))"
    )
    worked, policy, nice = policies.split()
    assert (worked == "True") == (policy == str(os.SCHED_FIFO) or nice == "-20")


def test_a_dying_process_may_run_first_and_a_dead_one_is_no_error() -> None:
    outcome_ = outcome("linux.let_run(os.getpid()); print(os.sched_getscheduler(0)); linux.let_run(2**22 + 1)")
    assert outcome_ in {str(os.SCHED_RR), str(os.SCHED_OTHER)}
    if os.geteuid() == 0:
        assert outcome_ == str(os.SCHED_RR)


def test_orphans_are_adopted() -> None:
    code = """
linux.adopt_orphans()
child = os.fork()
if child == 0:
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.01)
        print(os.getppid(), flush=True)
        os._exit(0)
    os._exit(0)
os.waitpid(child, 0)
print(os.wait()[0] > 0, os.getpid())
"""
    adopted, own = outcome(code).split("\n")
    assert own == f"True {adopted}"


def test_a_child_dies_with_its_parent() -> None:
    code = """
told, tell = os.pipe()
child = os.fork()
if child == 0:
    linux.die_with_parent()
    os.write(tell, b"!")
    time.sleep(60)
    os._exit(0)
os.read(told, 1)
print(child, flush=True)
os.kill(os.getpid(), 9)
"""
    program = f"import os, time\nfrom moet_boot.guard import linux\n{code}"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    child = int(done.stdout)
    assert until(lambda: not alive(child))


def alive(pid: int) -> bool:
    process = read_process(pid)
    return process is not None and process.state != "Z"


class TestIsolated:
    def test_runs_a_module_of_ours_whatever_the_environment_says(self) -> None:
        command = isolated("moet_boot.guard.hog", "4096")
        hostile = {"PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere", "PYTHONSTARTUP": "/nowhere"}
        done = subprocess.run(
            command, env=hostile, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=50
        )
        assert (done.returncode, done.stderr) == (0, b"")

    @pytest.mark.parametrize("module", ["process", "leash", "hog"])
    def test_no_library_is_imported(self, module: str) -> None:
        code = f"import sys; import moet_boot.guard.{module}; print(sorted(m.split('.')[0] for m in sys.modules))"
        done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
        assert not {"pydantic", "typer", "rich", "psutil", "numpy", "docker"} & set(eval(done.stdout))

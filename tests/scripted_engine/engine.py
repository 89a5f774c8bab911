"""A program that imitates `vllm serve` 0.32: its lines, its processes and its bad manners, in a fraction of a second.

    python tests/scripted_engine/engine.py serve MODEL [--host H] [--port P] [--served-model-name N] [any other flags]

Tests start it with `tests.scripted_engine.start` (argv, environment). What it does is set by the variable
SCRIPTED_ENGINE, a JSON object; everything is off or as quick as possible by default:

    boot_s: 0.2            length of the boot, spread over the phases
    words: "cpu"           wording of the boot's lines: "cpu", "gpu", or "moet" (gpu and planes from a cache)
    fail: "no_weights"     prints that log of tests/data/engine_logs and exits with its code, like the real engine
    exit: 3                exits with this code in the middle of the boot ("exit_signal": 11 kills itself)
    print: "text"          prints this before failing or exiting
    hang_in: "kv_cache"    never leaves this phase of the boot (names of moet_boot.phases)
    swallow_terms: 1       how many TERMs are ignored while it boots (the real one: 1); 1 unless set
    ignore_term: true      ignores TERM for good, its children too
    hold_s: 0.1            how long it takes to end after TERM
    silent: true           completions have empty text; "tokenless": true answers 400 as without a tokenizer
    hang_tokens: true      /health and /v1/models answer, completions never do
    die_after_s: 0.5       its engine process dies so long after readiness: /health 503, then exit code 0
    exit_after_s: 0.5      it exits with code 1 so long after readiness
    daemon: "setsid"       starts a sleeping process in a session of its own; "double": one that is also an orphan
    shm: true              the engine holds a segment in /dev/shm that only a clean end removes
    rendezvous: true       leaves a vllm_dist_<hex> file in the temporary directory, as every boot of the real one
    alloc_mib, alloc_mib_s the engine takes so much memory, so fast (64 MiB/s unless set), after the weights
    flood_mib              prints so many MiB of log lines before it is ready
    port_busy: true        fails as if the port were taken (it fails so by itself when it is)

Real facts it keeps (engine.md sections 3 and 4): the port refuses connections until the boot ends; EngineCore and
Worker are children in the same session, named VLLM::EngineCor and VLLM::Worker, with overwritten environment;
SIGKILL of the first process leaves them alive; SIGSTOP of EngineCore leaves /health at 200.
"""

import ctypes
import json
import mmap
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

LOGS = Path(__file__).parent.parent / "data" / "engine_logs"
USAGE_FAILURES = {"unknown_flag", "bad_choice", "bad_int", "bad_json"}
KNOBS: dict[str, Any] = json.loads(os.environ.get("SCRIPTED_ENGINE", "{}"))
PHASES = ["starting", "loading_weights", "planes", "profiling", "kv_cache", "graph_capture", "warm_up"]

_API, _CORE, _WORKER = "APIServer", "EngineCore", "Worker"
CPU_LINES: dict[str, list[tuple[str, str]]] = {
    "starting": [
        (_API, "[api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0"),
        (_API, "[api_utils.py:286] non-default args: {'model_tag': '%(model)s', 'max_model_len': 256}"),
        (_API, "[model.py:733] Resolved architecture: Qwen3MoeForCausalLM"),
        (_CORE, "[core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='%(model)s'"),
        (_WORKER, "[parallel_state.py:1906] world_size=1 rank=0 distributed_init_method=%(rendezvous)s backend=gloo"),
    ],
    "loading_weights": [
        (_WORKER, "[cpu_model_runner.py:68] Starting to load model %(model)s..."),
        ("", "Loading safetensors checkpoint shards:   0% Completed | 0/2 [00:00<?, ?it/s]"),
        ("", "\rLoading safetensors checkpoint shards:  50% Completed | 1/2 [00:00<00:00, 156.35it/s]"),
        ("", "\rLoading safetensors checkpoint shards: 100% Completed | 2/2 [00:00<00:00, 156.35it/s]\n"),
        (_WORKER, "[default_loader.py:501] Loading weights took 0.01 seconds"),
    ],
    "kv_cache": [
        (_WORKER, "[cpu_worker.py:260] Explicitly set (1.0/6.59) GiB for KV cache on node 0."),
        (_CORE, "[kv_cache_utils.py:2327] CPU KV cache size: 4,194,304 tokens, Maximum concurrency for 256 tokens"),
    ],
    "warm_up": [
        (_CORE, "[core.py:402] init engine (profile, create kv cache, warmup model) took 2.90 s"),
        (_API, "[entry.py:140] Starting vLLM server on http://%(host)s:%(port)s"),
    ],
}
GPU_LINES = CPU_LINES | {
    "profiling": [
        (_WORKER, "[gpu_model_runner.py:5150] Model loading took 71.27 GiB memory and 41.5 seconds"),
        (_WORKER, "[backends.py:1128] Dynamo bytecode transform time: 3.54 s"),
    ],
    "kv_cache": [
        (_WORKER, "[gpu_worker.py:760] Available KV cache memory: 6.87 GiB"),
        (_CORE, "[kv_cache_utils.py:2327] GPU KV cache size: 188,640 tokens, Maximum concurrency: 5.23x"),
    ],
    "graph_capture": [
        ("", "\rCapturing CUDA graphs (decode, FULL): 100%|##########| 4/4 [00:01<00:00,  3.70it/s]\n"),
        (_WORKER, "[gpu_model_runner.py:6582] Graph capturing finished in 1 secs, took 0.06 GiB"),
    ],
}
MOET_LINES = GPU_LINES | {
    "loading_weights": [
        *CPU_LINES["loading_weights"][:1],
        (_WORKER, "[moe_w2.py:410] moe_w2 LOADER-SKIP armed: pack-resident expert layers (first: key 0)"),
        *CPU_LINES["loading_weights"][1:],
    ],
    "planes": [
        line
        for layer in range(43)
        for line in (
            (_WORKER, f"[moe_w2.py:790] moe_w2: layer {layer} planes built (1.69 GiB)"),
            (_WORKER, f"[moe_w2.py:620] moe_w2: layer {layer} planes from cache"),
        )
    ],
}
LINES = {"cpu": CPU_LINES, "gpu": GPU_LINES, "moet": MOET_LINES}[str(KNOBS.get("words", "cpu"))]


def say(who: str, text: str) -> None:
    """One line as the engine prints it, written whole."""
    prefix = f"({who} pid={os.getpid()}) INFO 11-29 15:25:00 " if who else ""
    os.write(1, f"{prefix}{text}\n".encode())


def take_name(name: str) -> None:
    """The name in /proc/PID/comm; the environment is overwritten as setproctitle does it."""
    ctypes.CDLL(None).prctl(15, name.encode()[:15], 0, 0, 0)
    stat = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    start, end = int(stat[47]), int(stat[48])
    if end > start:
        ctypes.memset(start, 0, end - start)


class Arguments:
    """The few flags that matter; all others are taken as known."""

    def __init__(self, argv: list[str]) -> None:
        self.model = argv[1] if len(argv) > 1 and not argv[1].startswith("-") else "model"
        self._argv = argv
        self.host = self.value("--host", "127.0.0.1")
        self.port = int(self.value("--port", "8000"))
        self.served_name = self.value("--served-model-name", self.model)

    def value(self, flag: str, default: str) -> str:
        for index, word in enumerate(self._argv):
            if word == flag and index + 1 < len(self._argv):
                return self._argv[index + 1]
            if word.startswith(f"{flag}="):
                return word.partition("=")[2]
        return default


def fail(name: str) -> None:
    """Print the log of a real failure and exit as the real engine did."""
    os.write(1, (LOGS / f"{name}.log").read_bytes())
    os._exit(2 if name in USAGE_FAILURES else 1)


class Terms:
    """TERM during the boot is swallowed as often as set; the next one ends the server as an interrupt would."""

    def __init__(self) -> None:
        self.booting = True
        self.engine_pid = 0
        self.wanted = threading.Event()
        self._swallow = int(KNOBS.get("swallow_terms", 1))
        signal.signal(signal.SIGTERM, self._on_term)

    def _on_term(self, _number: int, _frame: FrameType | None) -> None:
        if KNOBS.get("ignore_term"):
            return
        if self.booting and self._swallow > 0:
            self._swallow -= 1
            return
        self.wanted.set()
        if self.booting:
            if self.engine_pid:
                os.kill(self.engine_pid, signal.SIGTERM)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)


class Engine:
    """EngineCore and its Worker, forked, answering one byte for each request."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            server.socket.close()
            EngineCore(theirs).run()
        theirs.close()
        self._line = ours
        self._lock = threading.Lock()

    def order(self, what: bytes) -> bytes:
        """Ask the engine for something; blocks while it is stopped, empty when it is dead."""
        with self._lock:
            try:
                self._line.sendall(what)
                return self._line.recv(1)
            except OSError:
                return b""


class EngineCore:
    """The engine process. `t` generates, `a` allocates, `q` ends it; when the API process is killed it lives on."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        signal.signal(signal.SIGTERM, signal.SIG_IGN if KNOBS.get("ignore_term") else signal.SIG_DFL)
        self._worker = os.fork()
        if self._worker == 0:
            line.close()
            take_name("VLLM::Worker")
            while True:
                time.sleep(3600)
        if not KNOBS.get("ignore_term"):
            signal.signal(signal.SIGTERM, lambda *_: self._end())
        take_name("VLLM::EngineCore")
        self._segment = Segment() if KNOBS.get("shm") else None
        self._taken: list[bytearray] = []

    def run(self) -> None:
        """Never returns."""
        while order := self._line.recv(1):
            if order == b"q":
                self._end()
            if order == b"a":
                self._allocate()
            self._line.sendall(b"t")
        while True:
            time.sleep(3600)

    def _end(self) -> None:
        if self._segment:
            self._segment.path.unlink(missing_ok=True)
        os.kill(self._worker, signal.SIGKILL)
        os.waitpid(self._worker, 0)
        os._exit(0)

    def _allocate(self) -> None:
        """Take memory at a steady rate, touching every page."""
        step_mib = 8
        for _ in range(int(KNOBS["alloc_mib"]) // step_mib):
            self._taken.append(bytearray(b"x") * (step_mib << 20))
            time.sleep(step_mib / float(KNOBS.get("alloc_mib_s", 64)))


class Segment:
    """A mapped file in /dev/shm."""

    def __init__(self) -> None:
        self.path = Path("/dev/shm") / f"psm_{uuid.uuid4().hex[:8]}"
        with self.path.open("w+b") as stream:
            stream.truncate(4096)
            self._map = mmap.mmap(stream.fileno(), 4096)


def start_daemon(kind: str) -> None:
    """A process that leaves the session; `double` loses its parents before anybody can look."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if kind == "double" and os.fork():
            os._exit(0)
        if KNOBS.get("ignore_term"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # exec, so that it looks like any other program
        os.execv("/bin/sleep", ["sleep", "3600"])
    if kind == "double":
        os.waitpid(child, 0)


class Handler(BaseHTTPRequestHandler):
    """The endpoints that moet-boot asks, a little of each."""

    protocol_version = "HTTP/1.1"
    served_name: str
    engine: Engine
    dead: threading.Event

    def log_message(self, _format: str, *_args: Any) -> None:
        os.write(1, f'INFO:     127.0.0.1:40000 - "{self.requestline}" 200 OK\n'.encode())

    def do_GET(self) -> None:
        if self.path in {"/health", "/ping"}:
            self._answer(503 if self.dead.is_set() else 200, b"")
        elif self.path == "/v1/models":
            row = {"id": self.served_name, "object": "model", "max_model_len": 256}
            self._json(200, {"object": "list", "data": [row]})
        elif self.path == "/version":
            self._json(200, {"version": "0.32.0"})
        elif self.path == "/metrics":
            self._answer(200, b'vllm:num_requests_running{engine="0"} 0.0\nvllm:num_requests_waiting 0.0\n')
        else:
            self._json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if self.path not in {"/v1/completions", "/v1/chat/completions"}:
            self._json(404, {"detail": "Not Found"})
        elif body.get("model") != self.served_name:
            self._json(404, {"error": {"type": "NotFoundError", "message": "The model does not exist."}})
        elif KNOBS.get("tokenless"):
            self._json(400, {"error": {"message": "The decoder prompt cannot be empty"}})
        else:
            self._generate(int(body.get("max_tokens") or 16))

    def _generate(self, tokens: int) -> None:
        if KNOBS.get("hang_tokens"):
            threading.Event().wait()
        if not self.engine.order(b"t"):
            self._json(500, {"error": {"message": "EngineCore encountered an issue."}})
            return
        text = "" if KNOBS.get("silent") else "h" * tokens
        choice = {"index": 0, "finish_reason": "length"}
        choice |= {"message": {"role": "assistant", "content": text}} if "chat" in self.path else {"text": text}
        usage = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
        self._json(200, {"object": "text_completion", "choices": [choice], "usage": usage})

    def _json(self, status: int, document: dict[str, Any]) -> None:
        self._answer(status, json.dumps(document).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def bind(arguments: Arguments) -> ThreadingHTTPServer:
    """Bind early and do not listen, as the real engine does."""
    server = ThreadingHTTPServer((arguments.host, arguments.port), Handler, bind_and_activate=False)
    server.daemon_threads = True
    try:
        server.server_bind()
    except OSError:
        fail("port_in_use")
    return server


def boot(arguments: Arguments, engine: Engine) -> None:
    """All phases with their lines, and what was asked to go wrong on the way."""
    rendezvous = Path(tempfile.gettempdir()) / f"vllm_dist_{uuid.uuid4().hex}"
    if KNOBS.get("rendezvous"):
        rendezvous.write_bytes(b"store")
    facts = {**vars(arguments), "rendezvous": f"file://{rendezvous}"}
    phases = [phase for phase in PHASES if phase in LINES]
    for phase in phases:
        for who, text in LINES[phase]:
            say(who, text % facts if "%(" in text else text)
        if phase == "loading_weights":
            misbehave(engine)
        while KNOBS.get("hang_in") == phase:
            time.sleep(3600)
        time.sleep(float(KNOBS.get("boot_s", 0.2)) / len(phases))


def misbehave(engine: Engine) -> None:
    if "daemon" in KNOBS:
        start_daemon(str(KNOBS["daemon"]))
    line = b"x" * 99 + b"\n"
    for _ in range(int(float(KNOBS.get("flood_mib", 0)) * 1024)):
        os.write(1, line * 10 + b"y" * 23 + b"\n")
    if "alloc_mib" in KNOBS:
        engine.order(b"a")
    if "print" in KNOBS:
        say("", str(KNOBS["print"]))
    if "exit_signal" in KNOBS:
        os.kill(os.getpid(), int(KNOBS["exit_signal"]))
    if "exit" in KNOBS:
        os._exit(int(KNOBS["exit"]))


def watch(engine: Engine, dead: threading.Event, terms: Terms) -> None:
    """Notice the engine's death: 503 at once, and a moment later an end with exit code 0."""
    os.waitpid(engine.pid, 0)
    if not terms.wanted.is_set():
        dead.set()
        say(_API, "ERROR")
        os.write(1, b"(APIServer pid=1) ERROR 11-29 15:26:20 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDead")
        os.write(1, b"Error: EngineCore encountered an issue. See stack trace (above) for the root cause.\n")
        time.sleep(0.3)
        terms.wanted.set()


def main() -> None:
    argv = sys.argv[1:]
    if "--no-such-flag" in argv:
        fail("unknown_flag")
    if "fail" in KNOBS:
        fail(str(KNOBS["fail"]))
    if KNOBS.get("port_busy"):
        fail("port_in_use")
    arguments = Arguments(argv)
    terms = Terms()
    server = bind(arguments)
    engine = Engine(server)
    terms.engine_pid = engine.pid
    Handler.served_name, Handler.engine, Handler.dead = arguments.served_name, engine, threading.Event()
    boot(arguments, engine)
    threading.Thread(target=watch, args=(engine, Handler.dead, terms), daemon=True).start()
    server.server_activate()
    terms.booting = False
    os.write(1, b"INFO:     Started server process [1]\nINFO:     Application startup complete.\n")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    serve(engine, terms)


def serve(engine: Engine, terms: Terms) -> None:
    if "die_after_s" in KNOBS:
        threading.Timer(float(KNOBS["die_after_s"]), os.kill, (engine.pid, signal.SIGKILL)).start()
    if "exit_after_s" in KNOBS:
        threading.Timer(float(KNOBS["exit_after_s"]), os._exit, (1,)).start()
    terms.wanted.wait()
    time.sleep(float(KNOBS.get("hold_s", 0)))
    with suppress(ProcessLookupError):
        os.kill(engine.pid, signal.SIGCONT)
    engine.order(b"q")
    os._exit(0)


if __name__ == "__main__":
    main()

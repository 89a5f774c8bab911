"""Questions to the server over HTTP, as the supervisor's loop asks them."""

import time
from collections.abc import Callable

import httpx2

from moet_boot.engine.load import Load, parse_load
from moet_boot.engine.readiness import ProbeResult, Readiness, ReadinessProbe
from moet_boot.supervise.effects import Probe

ANSWER_TOKENS = 24
ASK_SECONDS = 120.0
METRICS_SECONDS = 5.0
STILL_SECONDS = 900.0
"""How long a busy server's counters may stand still: one prefill of a long context takes minutes on a small machine."""


class HttpProber:
    """Asks the server at `url`. `api_key` goes into the Authorization header when the server wants one."""

    def __init__(
        self, url: str, served_name: str, api_key: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        # a proxy in the environment must not stand between the supervisor and its own server
        self._client = httpx2.Client(base_url=url, headers=headers, trust_env=False)
        self._name = served_name
        self._probe = ReadinessProbe(self._client, served_name)
        self._clock = clock
        self._progress = -1.0
        self._moved_at = clock()

    def ready(self) -> Probe:
        """Health, the model's name, one generated token."""
        self._moved_at = self._clock()
        return _probe(self._probe.probe())

    def alive(self) -> Probe:
        """Whether it still works: an idle server must generate a token, a busy one must make progress."""
        health = _probe(self._probe.health())
        if not health.ok:
            return health
        load = self._load()
        if load is None or not load.busy:
            return self.ready()
        return self._moving(load)

    def _moving(self, load: Load) -> Probe:
        now = self._clock()
        if load.progress != self._progress:
            self._progress, self._moved_at = load.progress, now
        still = now - self._moved_at
        if still < STILL_SECONDS:
            return Probe(ok=True, step="progress")
        fault = f"{load.requests} requests wait and no token came for {still:.0f} s"
        return Probe(ok=False, step="progress", fault=fault)

    def ask(self, question: str) -> Probe:
        """One short chat answer."""
        body = {
            "model": self._name,
            "messages": [{"role": "user", "content": question}],
            "max_tokens": ANSWER_TOKENS,
        }
        try:
            response = self._client.post("/v1/chat/completions", json=body, timeout=ASK_SECONDS)
            if response.status_code != httpx2.codes.OK:
                return Probe(ok=False, step="chat", fault=f"status {response.status_code}: {response.text[:200]}")
            text = response.json()["choices"][0]["message"]["content"]
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, LookupError, TypeError) as error:
            return Probe(ok=False, step="chat", fault=f"{type(error).__name__}: {error}")
        if not isinstance(text, str) or not text:
            return Probe(ok=False, step="chat", fault="an empty answer")
        return Probe(ok=True, step="chat", answer=text)

    def _load(self) -> Load | None:
        try:
            response = self._client.get("/metrics", timeout=METRICS_SECONDS)
        except (httpx2.HTTPError, httpx2.InvalidURL):
            return None
        return parse_load(response.text) if response.status_code == httpx2.codes.OK else None


def _probe(result: ProbeResult) -> Probe:
    foreign = result.readiness is Readiness.FOREIGN
    return Probe(ok=result.ready, step=result.step, fault=result.why, foreign=foreign)

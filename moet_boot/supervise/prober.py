"""Questions to the server over HTTP, as the supervisor's loop asks them."""

import httpx2

from moet_boot.engine.readiness import ProbeLimits, ProbeResult, Readiness, ReadinessProbe
from moet_boot.supervise.effects import Probe

ANSWER_TOKENS = 24
ASK_SECONDS = 120.0


class HttpProber:
    """Asks the server at `url`. `api_key` goes into the Authorization header when the server wants one."""

    def __init__(self, url: str, served_name: str, api_key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        # a proxy in the environment must not stand between the supervisor and its own server
        self._client = httpx2.Client(base_url=url, headers=headers, trust_env=False)
        self._name = served_name
        self._boot = ReadinessProbe(self._client, served_name)
        # a busy server may let one small request wait behind long prefills
        self._life = ReadinessProbe(self._client, served_name, ProbeLimits(5.0, 30.0, 300.0))

    def ready(self) -> Probe:
        """Health, the model's name, one generated token."""
        return _probe(self._boot.probe())

    def alive(self) -> Probe:
        """Health and one generated token, with the patience that a busy server deserves."""
        return _probe(self._life.probe())

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


def _probe(result: ProbeResult) -> Probe:
    foreign = result.readiness is Readiness.FOREIGN
    return Probe(ok=result.ready, step=result.step, fault=result.why, foreign=foreign)

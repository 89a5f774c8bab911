"""Is the server ready? Health answers, the served model is listed, and one token comes out.

A 200 from /health proves little: it stays 200 while the engine hangs, with a model whose output is empty, and
with a tokenizer that is missing (engine.md sections 4 and 5). Whatever answers on the port, the probe returns
a result and never raises: another server, garbage, endless or dripping bodies, redirects, closed sockets.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import httpx2

MAX_BODY_BYTES = 1 << 20
_RETRY_TOKENS = 8


class Readiness(StrEnum):
    """What the probe found."""

    READY = "ready"
    REFUSED = "refused"
    """Nothing listens yet."""
    UNHEALTHY = "unhealthy"
    """It listens, and says or shows that it cannot serve."""
    FOREIGN = "foreign"
    """Something else, or another model, answers on the port."""
    SILENT = "silent"
    """Healthy, model listed, and no token: a hang or a model that is silently wrong."""


@dataclass(frozen=True)
class ProbeResult:
    """One probe. `step` is the last one tried; `why` is empty when ready; `seconds` is the whole duration."""

    readiness: Readiness
    step: Literal["health", "models", "generate"]
    why: str
    seconds: float

    @property
    def ready(self) -> bool:
        return self.readiness is Readiness.READY


@dataclass(frozen=True)
class ProbeLimits:
    """Deadlines in seconds for a whole answer, body included."""

    health_s: float = 2.0
    models_s: float = 5.0
    generate_s: float = 60.0


class _NotReadyError(Exception):
    def __init__(self, readiness: Readiness, why: str) -> None:
        super().__init__(why)
        self.readiness, self.why = readiness, why


class ReadinessProbe:
    """Probes one server. `client` must have its base URL set (and the API key's header, if there is one)."""

    def __init__(
        self,
        client: httpx2.Client,
        served_name: str,
        limits: ProbeLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._name, self._clock = client, served_name, clock
        self._limits = limits or ProbeLimits()

    def probe(self) -> ProbeResult:
        """One attempt at all three steps. Never raises on anything that the server does."""
        start = self._clock()
        step: Literal["health", "models", "generate"] = "health"
        try:
            self._check_health()
            step = "models"
            self._check_models()
            step = "generate"
            self._check_generates()
        except _NotReadyError as error:
            return ProbeResult(error.readiness, step, error.why, self._clock() - start)
        return ProbeResult(Readiness.READY, step, "", self._clock() - start)

    def health(self) -> ProbeResult:
        """Only the first step: cheap enough to poll."""
        start = self._clock()
        try:
            self._check_health()
        except _NotReadyError as error:
            return ProbeResult(error.readiness, "health", error.why, self._clock() - start)
        return ProbeResult(Readiness.READY, "health", "", self._clock() - start)

    def _check_health(self) -> None:
        status, body = self._ask("GET", "/health", self._limits.health_s, late=Readiness.UNHEALTHY)
        if status == httpx2.codes.OK:
            return
        if status == httpx2.codes.SERVICE_UNAVAILABLE:
            raise _NotReadyError(Readiness.UNHEALTHY, "/health says 503: the engine behind the server is dead")
        if httpx2.codes.is_server_error(status):
            raise _NotReadyError(Readiness.UNHEALTHY, f"/health answers {status}{_quote(body)}")
        raise _NotReadyError(Readiness.FOREIGN, f"/health answers {status}{_quote(body)}: not a vLLM server")

    def _check_models(self) -> None:
        status, body = self._ask("GET", "/v1/models", self._limits.models_s, late=Readiness.UNHEALTHY)
        _refuse_unauthorized(status)
        names = _model_names(body) if status == httpx2.codes.OK else None
        if names is None:
            why = f"/v1/models answers {status}{_quote(body)}: not a list of models"
            raise _NotReadyError(Readiness.FOREIGN, why)
        if self._name not in names:
            served = ", ".join(sorted(names))[:200] or "nothing"
            raise _NotReadyError(Readiness.FOREIGN, f"the server serves {served}, not {self._name}")

    def _check_generates(self) -> None:
        # One token may be half a character or an end mark, which decodes to nothing; eight in a row are not.
        if self._generate(1) or self._generate(_RETRY_TOKENS):
            return
        why = "the server generates tokens without text: the model's output is empty"
        raise _NotReadyError(Readiness.SILENT, why)

    def _generate(self, tokens: int) -> str:
        request = {
            "model": self._name,
            "prompt": "1",
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": True,
            "skip_special_tokens": False,
        }
        limit = self._limits.generate_s
        status, body = self._ask("POST", "/v1/completions", limit, late=Readiness.SILENT, document=request)
        _refuse_unauthorized(status)
        text = _completion_text(body) if status == httpx2.codes.OK else None
        if text is None:
            why = f"/v1/completions answers {status}{_quote(body)} instead of a token"
            raise _NotReadyError(Readiness.SILENT, why)
        return text

    def _ask(
        self, method: str, path: str, limit_s: float, *, late: Readiness, document: dict[str, Any] | None = None
    ) -> tuple[int, bytes]:
        """Status and body; raises with the right verdict when there is no whole answer within the limit."""
        deadline = self._clock() + limit_s
        try:
            with self._client.stream(method, path, json=document, timeout=limit_s, follow_redirects=False) as answer:
                return answer.status_code, self._body(answer, deadline, path, late)
        except httpx2.ConnectError as error:
            raise _NotReadyError(Readiness.REFUSED, f"nothing listens yet ({error})") from error
        except httpx2.TimeoutException as error:
            raise _NotReadyError(late, f"{path} did not answer within {limit_s:g} s") from error
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            why = f"{path} broke off: {type(error).__name__}: {error}"[:300]
            raise _NotReadyError(Readiness.UNHEALTHY, why) from error

    def _body(self, answer: httpx2.Response, deadline: float, path: str, late: Readiness) -> bytes:
        body = bytearray()
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                raise _NotReadyError(Readiness.FOREIGN, f"{path} sends more than {MAX_BODY_BYTES} bytes")
            if self._clock() > deadline:
                raise _NotReadyError(late, f"{path} did not finish its answer in time")
        return bytes(body)


def _refuse_unauthorized(status: int) -> None:
    if status in {httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN}:
        raise _NotReadyError(Readiness.UNHEALTHY, f"the server wants an API key (status {status})")


def _quote(body: bytes) -> str:
    text = " ".join(body[:300].decode("utf-8", "replace").split())
    return f" ({text})" if text else ""


def _json(body: bytes) -> Any:
    """The document, or None if it is none (deep nesting exhausts the parser's stack)."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _model_names(body: bytes) -> set[str] | None:
    document = _json(body)
    rows = document.get("data") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        return None
    return {row["id"] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)}


def _completion_text(body: bytes) -> str | None:
    """The generated text; None if this is no completion."""
    document = _json(body)
    choices = document.get("choices") if isinstance(document, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    text = first.get("text") if isinstance(first, dict) else None
    return text if isinstance(text, str) else None

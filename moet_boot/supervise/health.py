"""Whether the server in this container is ready, asked from a second process: for HEALTHCHECK and probes."""

from collections.abc import Mapping
from http import HTTPStatus

import httpx2

from moet_boot.preflight import Request, plan_for
from moet_boot.profile.resolve import resolve_profile
from moet_boot.supervise.endpoints import LOOPBACK
from moet_boot.supervise.inside import Inside, Mode
from moet_boot.supervise.status import all_status

ANSWER_S = 5.0


def why_unhealthy(inside: Inside, env: Mapping[str, str]) -> str:
    """Why the server is not ready, or "".

    A supervised server: its supervisor's word, by the endpoint where there is one. In exec mode nothing of
    moet-boot is left to ask, and the server's own /health says at least that it lives.
    """
    if inside.mode is Mode.EXEC:
        return _asked(f"{_url(inside.request, env)}/health")
    running = [found.status for found in all_status() if found.alive]
    if not running:
        return "no supervisor runs here"
    status = running[0]
    if status.endpoints_port:
        return _asked(f"http://{LOOPBACK}:{status.endpoints_port}/readyz")
    return "" if status.ready else f"not ready: {status.phase}"


def _url(request: Request, env: Mapping[str, str]) -> str:
    profile = resolve_profile(request.profile, request.variant, request.sets, env=env)
    return plan_for(request, profile).url


def _asked(url: str) -> str:
    try:
        answer = httpx2.get(url, timeout=ANSWER_S, trust_env=False)
    except httpx2.HTTPError as error:
        return f"{url}: {type(error).__name__} {error}".strip()
    return "" if answer.status_code == HTTPStatus.OK else f"{url}: {answer.status_code} {answer.text.strip()[:200]}"

"""What can go wrong between here and the hub, each with its exit code and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError, UsageError

AGAIN = "run the same command again: it goes on from where it was"
LOGIN = "set HF_TOKEN to a token that may read it (or run `hf auth login`)"
DENIED = frozenset({401, 403})
GONE = frozenset({404, 410})
OUT_OF_RANGE = 416


class NetworkError(MoetBootError):
    """The hub could not be reached, or broke off; another try may go through."""

    def __init__(self, what: str) -> None:
        super().__init__(what, fix=f"check the network (HTTPS_PROXY, HF_ENDPOINT), then {AGAIN}")


@contextmanager
def hub_trouble(what: str) -> Iterator[None]:
    """Turn the failures of the hub's client into ours; `what` names the repository and the file or revision.

    Raises ArtefactMissingError for what the hub does not have, NetworkError for what may pass, and MoetBootError for
    a token that is missing or refused.
    """
    try:
        yield
    except (HfHubHTTPError, OfflineModeIsEnabled, HFValidationError, httpx2.RequestError, httpx2.InvalidURL) as failure:
        raise translated(failure, what) from failure


def translated(failure: Exception, what: str) -> MoetBootError:  # noqa: PLR0911  (a table of what there is)
    """Our error for one of the client's."""
    match failure:
        case GatedRepoError():
            return MoetBootError(
                f"{what}: the hub gives it only to those who accepted its terms",
                fix=f"accept them on the repository's page, and {LOGIN}",
            )
        case RevisionNotFoundError():
            return ArtefactMissingError(f"{what}: the hub has no such revision", fix="check repository and revision")
        case RepositoryNotFoundError():
            hint = f"check the name, or {LOGIN}"
            return ArtefactMissingError(f"{what}: the hub has no such repository, or a private one", fix=hint)
        case RemoteEntryNotFoundError():
            return ArtefactMissingError(f"{what}: the hub has no such file", fix="check repository and revision")
        case HfHubHTTPError():
            return _status(failure.response.status_code, what)
        case OfflineModeIsEnabled():
            return MoetBootError(f"{what}: HF_HUB_OFFLINE forbids to ask the hub", fix="unset it, and run this again")
        case HFValidationError():
            return UsageError(f"{what}: this cannot be a repository: {failure}", fix="correct the profile: OWNER/NAME")
        case _:
            return NetworkError(f"{what}: the hub did not answer: {str(failure) or type(failure).__name__}")


def _status(code: int, what: str) -> MoetBootError:
    if code in DENIED:
        return MoetBootError(f"{what}: the hub refuses the token, or wants one (HTTP {code})", fix=LOGIN)
    if code in GONE:
        return ArtefactMissingError(
            f"{what}: the hub does not have it (HTTP {code})", fix="check repository and revision"
        )
    if code == OUT_OF_RANGE:
        return ArtefactDamagedError(f"{what}: the hub's file is shorter than it lists", fix=AGAIN)
    return NetworkError(f"{what}: the hub answered with HTTP {code}")

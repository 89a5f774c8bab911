"""The hub as fetching needs it: which commit a revision is, its files, and their bytes from any place on.

Only listing, login and transport are the client library's: its own download throws an unfinished file away
(huggingface_hub 2.4, file_download._download_to_tmp_and_move) and refuses files above 50 GB without a native part.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
from huggingface_hub import HfApi, hf_hub_url
from huggingface_hub.errors import HFValidationError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from moet_boot import __version__
from moet_boot.errors import ArtefactDamagedError
from moet_boot.fetch.hub_file import HubFile
from moet_boot.fetch.trouble import AGAIN, NetworkError, hub_trouble
from moet_boot.machine.bounded import result_by, start_reading
from moet_boot.machine.tree import UnreadError

LISTING_S = 120.0
"""The client retries a listing for up to half a minute, and waits for an answer for ever."""
TIMEOUT = httpx2.Timeout(10.0, read=30.0)
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
_PARTIAL = 206


@dataclass(frozen=True)
class Answer:
    """The bytes of a file from `start` on; `size` is that of the whole file, None where the hub does not say."""

    start: int
    size: int | None
    pieces: Iterator[bytes]


class Hub:
    """A hub at an address, None for the usual one (HF_ENDPOINT). The token comes from HF_TOKEN or a login."""

    def __init__(self, endpoint: str | None = None) -> None:
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it would talk on stderr by itself
        self._endpoint = endpoint
        self._api = HfApi(endpoint=endpoint, library_name="moet-boot", library_version=__version__)

    def commit(self, repo: str, revision: str = "main") -> str:
        """The commit that a branch is now. Raises as `hub_trouble` says."""
        with _listing(f"{repo} at {revision}"):
            found = self._api.repo_info(repo, revision=revision, timeout=TIMEOUT.read).sha
        if not found:
            raise NetworkError(f"{repo} at {revision}: the hub named no commit")
        return found

    def files(self, repo: str, commit: str) -> list[HubFile]:
        """All files of a commit. Raises as `hub_trouble` says, and ArtefactDamagedError for a name that leads away."""
        with _listing(f"{repo} at {commit}"):
            entries = result_by(start_reading(lambda: self._entries(repo, commit)), LISTING_S, LISTING_S)
        for entry in entries:
            if entry.path.startswith("/") or ".." in entry.path.split("/"):
                raise ArtefactDamagedError(f"{repo} lists a file {entry.path!r} outside of itself", fix="do not use it")
        return entries

    @contextmanager
    def stream(self, repo: str, commit: str, path: str, start: int, stop: int) -> Iterator[Answer]:
        """Ask for the bytes from `start` to before `stop`. Raises as `hub_trouble` says, also while they come."""
        url = hf_hub_url(repo, path, revision=commit, endpoint=self._endpoint)
        headers = build_hf_headers(library_name="moet-boot", library_version=__version__)
        headers |= {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        with (
            hub_trouble(f"{path} of {repo}"),
            get_session().stream("GET", url, headers=headers, timeout=TIMEOUT, follow_redirects=True) as response,
        ):
            hf_raise_for_status(response)
            yield _answer(response)

    def _entries(self, repo: str, commit: str) -> list[HubFile]:
        tree = self._api.list_repo_tree(repo, recursive=True, revision=commit)
        return [_hub_file(entry) for entry in tree if isinstance(entry, RepoFile)]


@contextmanager
def _listing(what: str) -> Iterator[None]:
    with hub_trouble(what):
        try:
            yield
        except UnreadError as failure:
            raise NetworkError(f"{what}: the hub did not list it: {failure}") from failure
        except HFValidationError:
            raise
        except (KeyError, TypeError, ValueError) as failure:
            raise NetworkError(f"{what}: what answers there is no hub") from failure


def _hub_file(entry: RepoFile) -> HubFile:
    if entry.lfs is not None:
        return HubFile(entry.path, entry.lfs.size, entry.lfs.sha256)
    return HubFile(entry.path, entry.size, entry.blob_id)


def _answer(response: httpx2.Response) -> Answer:
    """A hub or proxy that does not know ranges sends the whole file."""
    pieces = response.iter_raw()
    if response.status_code == _PARTIAL:
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if match is None:
            raise ArtefactDamagedError("the hub sends a part of a file and does not say which", fix=AGAIN)
        return Answer(int(match[1]), int(match[2]), pieces)
    length = response.headers.get("Content-Length", "")
    return Answer(0, int(length) if length.isdigit() else None, pieces)

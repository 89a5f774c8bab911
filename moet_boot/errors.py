"""Failures that a person can act on: one line of what was seen, one of what to do, one exit code."""

from moet_boot.exits import Exit


class MoetBootError(Exception):
    """A known failure.

    `what` says what was seen and what was expected, `fix` what to do about it. The command line prints
    both and ends with `code`; nothing that raises it may leave work half done.
    """

    code: Exit = Exit.FAILURE

    def __init__(self, what: str, *, fix: str = "", code: Exit | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.what} -> {self.fix}" if self.fix else self.what


class UsageError(MoetBootError):
    """A flag, profile, override or input document is not valid."""

    code = Exit.USAGE


class ArtefactDamagedError(MoetBootError):
    """A file exists and is not what it must be."""

    code = Exit.ARTEFACT_DAMAGED


class ArtefactMissingError(MoetBootError):
    """A file or folder that is needed does not exist."""

    code = Exit.ARTEFACT_MISSING


class BusyError(MoetBootError):
    """A lock, a port or a GPU is taken by somebody else."""

    code = Exit.BUSY


class NotReadyError(MoetBootError):
    """The server ended, hung or was stopped before it answered with a token."""

    code = Exit.NOT_READY

"""What lies on the disks: filesystems, checkpoint, artefact files."""

from pydantic import Field

from moet_boot.machine.facts.group import Count, Group


class Filesystem(Group):
    """The filesystem behind a path. If the path does not exist, that of its nearest parent that does."""

    path: str
    exists: bool = True
    fstype: str | None = None
    free_bytes: Count | None = None
    """What a normal user may still write."""
    size_bytes: Count | None = None
    used_bytes: Count | None = None
    o_direct: bool | None = None
    """Whether a real open and read with O_DIRECT worked; None if there was no file to try it on."""
    rotational: bool | None = None
    read_only: bool | None = None


class Shard(Group):
    name: str
    size: Count
    lfs_pointer: bool = False


class Checkpoint(Group):
    """What was read about the checkpoint; `shards` is full detail, the counts are the summary."""

    path: str | None = None
    exists: bool = True
    repo: str | None = None
    revision: str | None = None
    index_declares: Count | None = None
    shards_present: Count | None = None
    total_bytes: Count | None = None
    incomplete_blobs: Count | None = None
    lfs_pointers: Count | None = None
    config_ok: bool | None = None
    missing: list[str] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)
    """What is wrong with it, one sentence each."""
    shards: list[Shard] | None = None


class FileFacts(Group):
    """A file or folder by its path as given; folders of caches have `dir` and `complete`."""

    path: str
    name: str | None = None
    """The profile's name of the artefact."""
    size: Count | None = None
    exists: bool = True
    head: str | None = None
    """The first line of a file too small to be what it should be."""
    pinned_revision: str | None = None
    header_ok: bool | None = None
    format: str | None = None
    dir: bool = False
    complete: bool | None = None
    layers_present: Count | None = None
    layers_expected: Count | None = None
    problems: list[str] = Field(default_factory=list)
    verified: str | None = None
    """Which verification found every slot good (`quick`, `sample`, `full`, `stamp`), None for none."""
    bad_slots: Count | None = None

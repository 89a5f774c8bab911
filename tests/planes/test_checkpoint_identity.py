import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError
from moet_boot.exits import Exit
from moet_boot.planes.checkpoint_identity import checkpoint_id, read_checkpoint_files
from moet_boot.planes.identity import ckpt_id_v1, ckpt_id_v2
from moet_boot.planes.server_version import ServerVersion
from testing.golden import golden_json
from testing.skip_cases import CHECKPOINT

V1, V2 = ServerVersion.V1, ServerVersion.V2
GOLDEN_V1 = golden_json("vi_identity.json")["v1"]["v1_ckpt_id_by_model_string"]
GOLDEN_V2 = golden_json("vi_identity.json")["v2"]


def test_the_states_of_real_files_are_read(tmp_path: object) -> None:
    files = read_checkpoint_files(CHECKPOINT)
    assert [shard.name for shard in files.shards] == sorted(GOLDEN_V2["pinned_stats"])
    shard = files.shards[0]
    stat = (CHECKPOINT / shard.name).stat()
    assert (shard.size, shard.mtime_ns, shard.ctime_ns) == (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    assert checkpoint_id(V2, CHECKPOINT, "/model") == ckpt_id_v2("/model", "", files)


def test_without_an_index_every_weight_file_counts(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("model")
    for name in ("b.safetensors", "a.bin", "notes.txt"):
        (folder / name).write_bytes(b"x")
    files = read_checkpoint_files(folder)
    assert files.config_sha256 is None
    assert [shard.name for shard in files.shards] == ["a.bin", "b.safetensors"]


def test_a_linked_shard_has_the_name_of_its_blob(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("model")
    (folder / "blob77").write_bytes(b"x")
    (folder / "a.safetensors").symlink_to(folder / "blob77")
    (shard,) = read_checkpoint_files(folder).shards
    assert (shard.name, shard.resolved_blob) == ("a.safetensors", "blob77")


@pytest.mark.parametrize(
    "index",
    [
        pytest.param("{not json", id="no JSON"),
        pytest.param("[]", id="a list"),
        pytest.param("{}", id="no weight_map"),
        pytest.param('{"weight_map": ["a"]}', id="a list as the map"),
        pytest.param('{"weight_map": {"t": 7}}', id="a number as a shard"),
        pytest.param('{"weight_map": {"t": [1]}}', id="a list as a shard"),
        pytest.param('{"weight_map": {"t": "a\\u0000b"}}', id="NUL in a shard"),
        pytest.param('{"weight_map": {"t": "\\ud800"}}', id="no text as a shard"),
        pytest.param("\x00\xff", id="binary"),
        pytest.param("[" * 100_000, id="deep nesting"),
    ],
)
def test_a_damaged_index_is_one_clear_error(index: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("model")
    (folder / "model.safetensors.index.json").write_bytes(index.encode("latin-1"))
    with pytest.raises(ArtefactDamagedError, match=r"model\.safetensors\.index\.json"):
        checkpoint_id(V2, folder, "/model")


def test_a_missing_shard_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("model")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"t": "gone.safetensors"}}')
    with pytest.raises(ArtefactMissingError, match=r"gone\.safetensors"):
        checkpoint_id(V2, folder, "/model")


def test_a_missing_folder_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("model") / "none"
    with pytest.raises(ArtefactMissingError, match="none"):
        checkpoint_id(V2, folder, "/model")
    with pytest.raises(ArtefactMissingError, match="no folder was given"):
        checkpoint_id(V1, None, "/model")


def test_v1_takes_a_checkpoint_without_an_index(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("model")
    assert checkpoint_id(V1, folder, "/model") == ckpt_id_v1("/model", None)


@pytest.mark.parametrize(("model", "expected"), GOLDEN_V1.items())
def test_golden_v1_ids(model: str, expected: str) -> None:
    assert checkpoint_id(V1, CHECKPOINT, model) == expected


@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize(("model", "revision"), [("/mo\udcffdel", ""), ("/model", "\udcff")], ids=["model", "revision"])
def test_what_is_no_text_has_no_id(server: ServerVersion, model: str, revision: str) -> None:
    with pytest.raises(MoetBootError, match="is no UTF-8") as failure:
        checkpoint_id(server, CHECKPOINT, model, revision)
    assert failure.value.code == Exit.USAGE

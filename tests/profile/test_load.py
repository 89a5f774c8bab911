import textwrap
from pathlib import Path

import pytest

from moet_boot.exits import Exit
from moet_boot.profile.files import shipped_folder, shipped_names
from moet_boot.profile.load import load_every_variant, load_profile
from moet_boot.profile.problem import Problem, ProfileError
from tests.profile.shipped import VARIANTS, shipped


def write(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return str(path)


def problems_of(path: str, variant: str | None = None) -> dict[str, Problem]:
    with pytest.raises(ProfileError) as caught:
        load_profile(path, variant)
    assert caught.value.code is Exit.USAGE
    assert all(problem.fix for problem in caught.value.problems)
    return {problem.key: problem for problem in caught.value.problems}


def test_plain_is_the_profile_without_a_variant() -> None:
    assert load_profile("rtx6000-b", "plain") == shipped("rtx6000-b")


@pytest.mark.parametrize("name", shipped_names())
def test_a_shipped_file_by_its_path_is_the_profile_by_its_name(name: str) -> None:
    assert load_profile(str(shipped_folder() / f"{name}.toml")) == shipped(name)


def test_a_variant_wins_over_its_profile_and_says_so() -> None:
    seqs = shipped("rtx6000-b", "mtp").flags["--max-num-seqs"]
    assert (seqs.value, seqs.layer, seqs.overrides) == (192, "variant", ("profile=256",))


def test_what_a_variant_does_not_mention_is_the_profiles() -> None:
    assert shipped("rtx6000-b", "mtp").env == shipped("rtx6000-b").env


def test_a_file_of_ones_own_extends_a_shipped_profile(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        extends = "rtx6000-a"
        [engine]
        port = 8001
        [flags."--port"]
        value = 8001
        why = "8000 is taken here"
        source = "this machine"
        """,
    )
    mine = load_profile(path)
    assert (mine.name, mine.extends, mine.engine.port) == ("mine", "rtx6000-a", 8001)
    assert mine.flags["--port"].overrides == ("rtx6000-a=8000",)
    assert mine.env == shipped("rtx6000-a").env
    assert mine.title == shipped("rtx6000-a").title


def test_its_name_may_be_another_than_the_files(tmp_path: Path) -> None:
    assert load_profile(write(tmp_path, 'extends = "demo"\nname = "other"')).name == "other"


def test_it_inherits_variants_and_may_change_them(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        extends = "rtx6000-b"
        [variant.mtp.flags."--max-num-seqs"]
        value = 128
        [variant.small]
        summary = "few streams"
        flags."--max-num-seqs" = { value = 8 }
        """,
    )
    assert set(load_profile(path).variants) == {"mtp", "small"}
    changed = load_profile(path, "mtp").flags["--max-num-seqs"]
    assert (changed.value, changed.overrides) == (128, ("rtx6000-b=192", "profile=256"))
    small = load_profile(path, "small").flags["--max-num-seqs"]
    assert (small.value, small.why) == (8, "no reason given in variant small of mine")
    assert small.measured is None


def test_three_files_in_a_row(tmp_path: Path) -> None:
    write(tmp_path, 'extends = "demo"\n[env.DO_NOT_TRACK]\nvalue = 0\n', "base.toml")
    path = write(tmp_path, 'extends = "./base.toml"\n[env.DO_NOT_TRACK]\nvalue = 5\n')
    setting = load_profile(path).env["DO_NOT_TRACK"]
    assert (setting.value, setting.overrides) == (5, ("base=0", "demo=1"))


def test_a_file_may_stand_by_itself(tmp_path: Path) -> None:
    text = (shipped_folder() / "spark.toml").read_text(encoding="utf-8").replace('name = "spark"', 'name = "alone"')
    assert load_profile(write(tmp_path, text)).name == "alone"


@pytest.mark.parametrize(
    ("text", "key", "what", "fix"),
    [
        ("[engine]\nprot = 1", "engine.prot", "is not a known key", "did you mean port?"),
        ("[memroy]\nx = 1", "memroy", "is not a known key", "did you mean memory?"),
        ("zzz = 1", "zzz", "is not a known key", "known here: schema, name"),
        ("[hardware.gpu]\ncapability = 1", "hardware.gpu.capability", "is not a known key", "compute_capability"),
        (
            "[deadlines.plane]\nseconds = 1",
            "deadlines.plane",
            "but input should be 'starting', 'loading_weights'",
            "did you mean planes",
        ),
        ("[env.X]\nvalue = 1", "env.X.why", "is missing", "reason"),
        ('[env.X]\nvalue = 1\nwhy = "w"', "env.X.source", "is missing", "on whose word"),
        ('[env.X]\nwhy = "w"\nsource = "s"', "env.X", "has no value", "absent = true"),
        (
            '[env.X]\nvalue = [1]\nwhy = "w"\nsource = "s"',
            "env.X.value",
            "is [1], but input should be a valid string",
            "",
        ),
        ('[engine]\nport = "8000"', "engine.port", 'is "8000", but input should be a valid integer', ""),
        ("[engine]\nport = 70000", "engine.port", "is 70000, but input should be less than or equal to 65535", ""),
        ("[memory.terms.planes]\ngib = -1", "memory.terms.planes.gib", "greater than or equal to 0", ""),
        ("[memory.terms.planes]\ngib = nan", "memory.terms.planes.gib", "finite number", ""),
        ("[guard]\nhard_floor_gib = inf", "guard.hard_floor_gib", "finite number", ""),
        ('[artefacts.checkpoint]\nsha256 = "zz"', "artefacts.checkpoint.sha256", "string should match pattern", ""),
        ('[container]\nimage = "Not A Name"', "container.image", "string should match pattern", ""),
        ('[container]\nimage_digest = "sha256:12"', "container.image_digest", "string should match pattern", ""),
        ('[artefacts.checkpoint]\nkind = "zip"', "artefacts.checkpoint.kind", "input should be 'checkpoint'", ""),
        ("why = 2020-01-01", "why", "is not a known key", ""),
        ('title = ""', "title", "at least 1 character", ""),
        ("title = 2020-01-01", "", "", ""),
        ("[deadlines.planes]\nseconds = 0", "deadlines.planes.seconds", "greater than 0", ""),
        ('schema = "moet-boot/profile/v2"', "schema", "but input should be 'moet-boot/profile/v1'", ""),
        (
            '[mounts.checkpoint]\nartefact = "chekpoint"',
            "mounts.checkpoint.artefact",
            "which is no artefact",
            "checkpoint",
        ),
        ("[engine]\nport = 9000", "flags.--port", "is 8000, but engine.port is 9000", "the same value"),
        (
            "[flags.max-num-seqs]\nvalue = 1\nwhy = 'w'\nsource = 's'",
            "flags.max-num-seqs",
            "two dashes",
            '"--max-num-seqs"',
        ),
        ("chosen = 1", "chosen", "is filled by moet-boot", "remove"),
        ("[env.VLLM_MOE_W2]\nlayer = 'flag'", "env.VLLM_MOE_W2.layer", "is filled by moet-boot", "remove"),
        ("[variant.x]\nsummary='s'\n[variant.x.env.A]\noverrides=[]", "variant.x.env.A.overrides", "is filled by", ""),
        ('variant = "mtp"', "variant", "files do not choose a variant", "[variant.NAME]"),
        ("[variant.x]\nenv = {}", "variant.x", "one-line `summary`", "summary"),
        ("extends = 3", "extends", "", ""),
    ],
)
def test_what_is_wrong_with_a_file_of_ones_own(tmp_path: Path, text: str, key: str, what: str, fix: str) -> None:
    body = text if text.startswith("extends") else f'extends = "rtx6000-a"\n{text}\n'
    path = write(tmp_path, body)
    if not key:
        assert load_profile(path).title == "2020-01-01"
        return
    problem = problems_of(path)[key]
    assert what in problem.what
    assert fix in problem.fix
    assert problem.file == path
    assert str(problem).startswith(f"{path}")


def test_every_problem_is_found_in_one_go(tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "demo"\n[engine]\nprot = 1\nhots = "a"\n[guard]\nhard_floor_gib = "x"\n')
    problems = problems_of(path)
    assert set(problems) == {"engine.prot", "engine.hots", "guard.hard_floor_gib"}
    assert {key: problem.line for key, problem in problems.items()} == {
        "engine.prot": 3,
        "engine.hots": 4,
        "guard.hard_floor_gib": 6,
    }


def test_a_problem_is_said_of_the_file_that_has_it(tmp_path: Path) -> None:
    base = write(tmp_path, 'extends = "demo"\n\n[engine]\nprot = 1\n', "base.toml")
    path = write(tmp_path, 'extends = "./base.toml"\n[engine]\nhots = 1\n')
    problems = problems_of(path)
    assert (problems["engine.prot"].file, problems["engine.prot"].line) == (base, 4)
    assert (problems["engine.hots"].file, problems["engine.hots"].line) == (path, 3)


def test_a_problem_inside_a_variant_has_its_line_there(tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "demo"\n[variant.x]\nsummary = "s"\n[variant.x.engine]\nprot = 1\n')
    assert load_profile(path).variants == {"x": "s"}
    assert problems_of(path, "x")["engine.prot"].line == 5


def test_a_file_that_extends_itself(tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "./mine.toml"\n')
    assert problems_of(path)["extends"].what == "goes round in a circle: mine.toml -> mine.toml"


def test_files_that_extend_each_other(tmp_path: Path) -> None:
    write(tmp_path, '\nextends = "mine.toml"\n', "b.toml")
    path = write(tmp_path, 'extends = "b.toml"\n')
    problem = problems_of(path)["extends"]
    assert problem.what == "goes round in a circle: mine.toml -> b.toml -> mine.toml"
    assert (Path(problem.file).name, problem.line) == ("b.toml", 2)


@pytest.mark.parametrize(
    ("parent", "what"),
    [
        ("sprak", "is 'sprak': no such profile"),
        ("./none.toml", "is './none.toml': no such file or directory"),
        ("", "is '', expected the name of a profile"),
    ],
)
def test_what_is_extended_must_exist(tmp_path: Path, parent: str, what: str) -> None:
    path = write(tmp_path, f'# mine\nextends = "{parent}"\n')
    problem = problems_of(path)["extends"]
    assert (problem.what, problem.line) == (what, 2)


def test_a_broken_file_below_is_named(tmp_path: Path) -> None:
    base = write(tmp_path, "a = = 1", "base.toml")
    assert problems_of(write(tmp_path, 'extends = "base.toml"'))[""].file == base


def test_a_file_with_nothing_says_what_is_missing_first(tmp_path: Path) -> None:
    problems = problems_of(write(tmp_path, "x = 1\n"))
    assert {"schema", "title", "summary", "hardware", "engine", "memory", "guard", "deadlines", "restart", "x"} <= set(
        problems
    )


@pytest.mark.parametrize(
    ("name", "variant", "fix"),
    [
        ("rtx6000-b", "mpt", "did you mean mtp?"),
        ("demo", "mtp", "choose one of them"),
        ("spark", "", "choose one of them"),
    ],
)
def test_an_unknown_variant(name: str, variant: str, fix: str) -> None:
    with pytest.raises(ProfileError, match=f"has no variant '{variant}'; it has plain") as caught:
        load_profile(name, variant)
    assert caught.value.fix == fix


@pytest.mark.parametrize("name", shipped_names())
def test_every_variant_of_a_shipped_profile_loads(name: str) -> None:
    profiles, problems = load_every_variant(name)
    assert problems == []
    assert [(p.name, p.variant) for p in profiles] == [pair for pair in VARIANTS if pair[0] == name]


def test_problems_of_all_variants_are_listed_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        extends = "rtx6000-b"
        [engine]
        prot = 1
        [variant.mtp.engine]
        hots = 1
        """,
    )
    profiles, problems = load_every_variant(path)
    assert profiles == []
    assert [problem.key for problem in problems] == ["engine.prot", "engine.hots"]


def test_the_variants_that_load_are_given_beside_the_problems(tmp_path: Path) -> None:
    path = write(tmp_path, 'extends = "rtx6000-b"\n[variant.bad]\nsummary = "s"\nzzz = 1\n')
    profiles, problems = load_every_variant(path)
    assert [p.variant for p in profiles] == [None, "mtp"]
    assert [problem.key for problem in problems] == ["zzz"]

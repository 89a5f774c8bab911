"""Parts of a profile that are no settings of the server but that people set: port, host, program, image, paths."""

import math
import re

from moet_boot.profile.assignment import Assignment, lay_over
from moet_boot.profile.model import Chosen, Profile, Setting, SettingValue
from moet_boot.profile.model.basics import IMAGE_NAME
from moet_boot.profile.nearest import did_you_mean

PATH_PREFIX = "path."
SAMPLING_PREFIX = "sampling."
_GPUS = re.compile(r"all|none|[0-9]+|device=[0-9]+(,[0-9]+)*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_HOST = re.compile(r"[0-9A-Za-z.:_-]+")
_MAX_PORT = 65535

_ENGINE_FIELDS = {"port": "port", "host": "host", "served-model-name": "served_name"}
_CONTAINER_FIELDS = {"image": "image", "image-digest": "image_digest", "gpus": "gpus"}
PARTS = (*_ENGINE_FIELDS, "engine", *_CONTAINER_FIELDS)
"""Keys of `--set` beside the server's own; `path.ARTEFACT` and `sampling.NAME` come with them."""


def is_part(key: str, name: str) -> bool:
    """Whether a key of `--set` is a part; `name` is the key without dashes in front."""
    return name in PARTS or key.startswith((PATH_PREFIX, SAMPLING_PREFIX))


def set_part(profile: Profile, name: str, given: Assignment) -> Profile:
    """The profile with that part set; raises UsageError for a value that it cannot have."""
    if given.key.startswith(SAMPLING_PREFIX):
        return _set_sampling(profile, given)
    if given.removes and name != "image-digest":
        raise given.refuse("it cannot be left out", f"give {name} a value")
    if name in _ENGINE_FIELDS:
        return _set_engine_field(profile, name, given)
    if name == "engine":
        return _set_engine(profile, given)
    if name in _CONTAINER_FIELDS:
        return _set_container_field(profile, name, given)
    return _set_path(profile, given)


def _set_engine_field(profile: Profile, name: str, given: Assignment) -> Profile:
    """Who asks the server and the server itself must be told the same."""
    field, flag = _ENGINE_FIELDS[name], f"--{name}"
    value = _port(given) if name == "port" else given.text
    if name == "host" and not _HOST.fullmatch(given.text):
        raise given.refuse("expected an address or a host name", "such as 127.0.0.1 or 0.0.0.0")
    old = getattr(profile.engine, field)
    profile = _chosen(profile, f"engine.{field}", str(old), given)
    changes: dict[str, object] = {"engine": profile.engine.model_copy(update={field: value})}
    if profile.container is None or profile.container.pass_arguments:
        changes["flags"] = {**profile.flags, flag: lay_over(profile.flags.get(flag), value, given)}
    return profile.model_copy(update=changes)


def _port(given: Assignment) -> SettingValue:
    if not re.fullmatch(r"[0-9]{1,5}", given.text) or not 1 <= int(given.text) <= _MAX_PORT:
        raise given.refuse(f"expected a port from 1 to {_MAX_PORT}", "such as port=8011")
    return int(given.text)


def _set_engine(profile: Profile, given: Assignment) -> Profile:
    command = (given.text, *(profile.engine.command[1:] or ("serve",)))
    old = profile.engine.command[0] if profile.engine.command else "none"
    profile = _chosen(profile, "engine.command", old, given)
    return profile.model_copy(update={"engine": profile.engine.model_copy(update={"command": command})})


def _set_container_field(profile: Profile, name: str, given: Assignment) -> Profile:
    container = profile.container
    if container is None:
        raise given.refuse(f"profile {profile.name} has no container", "choose a profile that runs in one")
    field = _CONTAINER_FIELDS[name]
    old, value = getattr(container, field), _container_value(name, given)
    profile = _chosen(profile, f"container.{field}", "none" if old is None else old, given)
    return profile.model_copy(update={"container": container.model_copy(update={field: value})})


def _container_value(name: str, given: Assignment) -> str | None:
    if name == "gpus":
        if not _GPUS.fullmatch(given.text):
            raise given.refuse("expected all, none, or the number of a GPU", "such as gpus=1 or gpus=device=1")
        return {"none": ""}.get(given.text, f"device={given.text}" if given.text.isdigit() else given.text)
    if name == "image-digest":
        if not given.removes and not _DIGEST.fullmatch(given.text):
            raise given.refuse(
                "expected sha256: and 64 hex digits, or nothing",
                "see `docker image ls --digests --no-trunc` for the digest in a registry and for the id; both will do",
            )
        return None if given.removes else given.text
    if not re.fullmatch(IMAGE_NAME, given.text):
        raise given.refuse("expected the name of an image", "such as image=vllm-moet-gb10:v024")
    return given.text


def _set_path(profile: Profile, given: Assignment) -> Profile:
    name = given.key.removeprefix(PATH_PREFIX)
    artefact = profile.artefacts.get(name)
    if artefact is None:
        known = list(profile.artefacts)
        hint = did_you_mean(name, known, f"it has: {', '.join(known) or 'none'}")
        raise given.refuse(f"profile {profile.name} has no artefact {name!r}", hint)
    profile = _chosen(profile, f"artefacts.{name}.path", artefact.path, given)
    moved = artefact.model_copy(update={"path": given.text})
    return profile.model_copy(update={"artefacts": {**profile.artefacts, name: moved}})


def _set_sampling(profile: Profile, given: Assignment) -> Profile:
    """What clients are advised to send; the rules judge it beside the server's settings."""
    name = given.key.removeprefix(SAMPLING_PREFIX)
    old = profile.sampling.get(name)
    if old is None:
        known = list(profile.sampling)
        hint = did_you_mean(name, known, f"it has: {', '.join(known) or 'none'}")
        raise given.refuse(f"profile {profile.name} advises nothing about {name!r}", hint)
    try:
        value = None if given.removes else float(given.text)
    except ValueError:
        raise given.refuse("expected a number, or nothing", "such as sampling.min_p=0.05") from None
    if value is not None and not math.isfinite(value):
        raise given.refuse("expected a number, or nothing", "such as sampling.min_p=0.05")
    laid = lay_over(old, value, given)
    changed = old.model_copy(update={field: getattr(laid, field) for field in Setting.model_fields})
    return profile.model_copy(update={"sampling": {**profile.sampling, name: changed}})


def _chosen(profile: Profile, key: str, old: str, given: Assignment) -> Profile:
    before = profile.chosen.get(key)
    layer, losers = (before.layer, before.overrides) if before else ("profile", ())
    now = Chosen(layer=given.layer, overrides=(f"{layer}={old}", *losers))
    return profile.model_copy(update={"chosen": {**profile.chosen, key: now}})

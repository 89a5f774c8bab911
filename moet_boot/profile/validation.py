"""Errors of the typed model in words: which key, what was seen, what was expected, which known key is near."""

import json
import re
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from moet_boot.profile.files import Raw
from moet_boot.profile.model import Profile
from moet_boot.profile.nearest import did_you_mean
from moet_boot.profile.problem import Problem

_SHOWN = 60
_QUOTED = re.compile(r"'([^']+)'")
_KEY = "[key]"
"""What pydantic adds to a location when the key itself is wrong."""
_ADD = {
    "why": "add why: in your own words, the reason for this value",
    "source": 'add source: on whose word, such as source = "measured on my machine"',
}


def explain_errors(error: ValidationError, raw: Raw, model: type[BaseModel] = Profile) -> list[Problem]:
    """One problem for each key that is wrong, in the order of the model; whose file it is, the caller knows."""
    problems: dict[str, Problem] = {}
    for detail in error.errors(include_url=False):
        location = _location(detail, raw)
        key = ".".join(location)
        problems.setdefault(key, _problem(detail, location, key, model))
    return list(problems.values())


def _problem(detail: ErrorDetails, location: tuple[str, ...], key: str, model: type[BaseModel]) -> Problem:
    match detail["type"]:
        case "missing":
            return Problem("", key, "is missing", _ADD.get(location[-1], f"add {location[-1]}; it is required"))
        case "extra_forbidden":
            known = known_keys(location[:-1], model)
            names = f"known here: {', '.join(known)}" if known else ""
            return Problem("", key, "is not a known key", did_you_mean(location[-1], known, names))
        case _:
            what = f"is {_shown(detail['input'])}, but {_lower(detail['msg'])}"
            choices = _QUOTED.findall(str(detail.get("ctx", {}).get("expected", "")))
            fix = did_you_mean(str(detail["input"]), choices, "see `moet-boot profiles schema` for what is allowed")
            return Problem("", key, what, fix)


def known_keys(location: tuple[str, ...], model: type[BaseModel] = Profile) -> list[str]:
    """The keys that the model knows at a location such as `("hardware", "gpu")`."""
    here: Any = model
    for part in location:
        if not (isinstance(here, type) and issubclass(here, BaseModel)):
            return []
        fields = {field.alias or name: field for name, field in here.model_fields.items()}
        field = fields.get(part)
        here = _table_of(field.annotation) if field else here
    if isinstance(here, type) and issubclass(here, BaseModel):
        return [field.alias or name for name, field in here.model_fields.items()]
    return []


def _table_of(annotation: Any) -> Any:
    """The model inside `Model | None` or `dict[str, Model]`."""
    models = [a for a in get_args(annotation) if isinstance(a, type) and issubclass(a, BaseModel)]
    return models[0] if models else annotation


def _location(detail: ErrorDetails, raw: Raw) -> tuple[str, ...]:
    """The path of the key in the file: pydantic adds the member of a union that it tried."""
    path: list[str] = []
    here: Any = raw
    for part in detail["loc"]:
        if isinstance(here, dict) and part != _KEY:
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int):
            here = here[part]
        else:
            break
        path.append(str(part))
    return tuple(path)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]

"""KEY=VALUE from one layer above the profile, and what is left of the value below it."""

from dataclasses import dataclass

from moet_boot.errors import UsageError
from moet_boot.profile.model import Setting, SettingValue, as_text

_SHOWN = 80
_NOTHING = ("", "null")


@dataclass(frozen=True)
class Assignment:
    """KEY=VALUE from one layer; `origin` is the layer in words."""

    key: str
    text: str
    layer: str
    origin: str

    @property
    def removes(self) -> bool:
        """Whether it takes the setting away."""
        return self.text in _NOTHING

    def refuse(self, what: str, fix: str = "") -> UsageError:
        """The error about this assignment."""
        return UsageError(f"{self.origin} {_one_line(f'{self.key}={self.text}')}: {what}", fix=fix)


def parse_assignment(text: str, layer: str, origin: str) -> Assignment:
    """`KEY=VALUE` in its two parts; raises UsageError when it is anything else."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(
            f"{origin} {text!r}: expected KEY=VALUE", fix="such as VLLM_MOE_W2_DELTA_GB=6 or max-num-seqs=4"
        )
    if "\0" in text or not _is_text(text):
        raise UsageError(f"{origin} {text!r}: expected text in UTF-8 without NUL bytes", fix="write it again as text")
    return Assignment(key.strip(), value.strip(), layer, origin)


def _one_line(text: str) -> str:
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _is_text(text: str) -> bool:
    """Whether it can be written anywhere: bytes of the command line that are no UTF-8 arrive as surrogates."""
    return all(not 0xD800 <= ord(character) <= 0xDFFF for character in text)  # noqa: PLR2004


def lay_over(old: Setting | None, value: SettingValue | None, given: Assignment, form: str = "") -> Setting:
    """The setting with its new value. A reason belongs to a value, so the old one only stays as `replaced_why`.

    `form` is how the old setting was written, where that says more than its value (`--no-x`).
    """
    if old is None:
        return Setting(
            value=value, absent=value is None, why=f"chosen by {given.origin}", source=given.origin, layer=given.layer
        )
    before = form or words(old)
    losers = (f"{old.layer}={before}", *old.overrides)
    if before == words_of(value):
        return old.model_copy(update={"layer": given.layer, "overrides": losers})
    ours = old.layer in {"profile", "variant"}
    return Setting(
        value=value,
        absent=value is None,
        why=f"chosen by {given.origin}",
        source=given.origin,
        layer=given.layer,
        overrides=losers,
        replaced_why=old.why if ours else old.replaced_why,
    )


def words(setting: Setting) -> str:
    """A setting's value as people read it."""
    return words_of(None if setting.absent else setting.value)


def words_of(value: SettingValue | None) -> str:
    """A value as people read it: `absent` for none, `true` for a bare flag."""
    if value is None:
        return "absent"
    return str(value).lower() if isinstance(value, bool) else as_text(value)

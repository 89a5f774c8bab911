import os
import sys

import pytest

from moet_boot.errors import UsageError
from moet_boot.fetch.extra import hub_extra


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"pip install 'moet-boot\[hub\]'"), hub_extra():
        import huggingface_hub  # noqa: F401


def test_another_missing_module_is_a_bug() -> None:
    with pytest.raises(ModuleNotFoundError), hub_extra():
        import no_such_module_at_all  # type: ignore[import-not-found]  # noqa: F401


def test_the_library_does_not_phone_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_DISABLE_TELEMETRY", raising=False)
    with hub_extra():
        assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"

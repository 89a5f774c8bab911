import sys

import pytest

from moet_boot.errors import UsageError
from moet_boot.planes.extra import planes_extra


def test_a_missing_numpy_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(UsageError, match="building planes needs numpy") as caught, planes_extra("building planes"):
        import numpy as np  # noqa: F401  (its absence is what is tested)
    assert "moet-boot[planes]" in caught.value.fix


def test_other_missing_modules_are_bugs() -> None:
    with pytest.raises(ModuleNotFoundError), planes_extra("building planes"):
        raise ModuleNotFoundError("no such thing", name="other")


def test_with_numpy_nothing_happens() -> None:
    with planes_extra("building planes"):
        import numpy as np
    assert np.uint8(3) == 3

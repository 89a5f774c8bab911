import pytest

from moet_boot.checks.finding import Status
from moet_boot.checks.rules import RULE_IDS, rule_findings
from tests.checks.cases import resolved


@pytest.mark.parametrize(
    ("profile", "variant"),
    [("spark", None), ("spark", "mtp"), ("rtx6000-a", None), ("rtx6000-b", None), ("rtx6000-b", "mtp"), ("demo", None)],
)
def test_no_shipped_profile_breaks_a_rule(profile: str, variant: str | None) -> None:
    findings = rule_findings(resolved(profile, variant, ()))
    assert findings
    assert {finding.id for finding in findings} <= set(RULE_IDS)
    assert not [finding for finding in findings if finding.status is Status.REFUSE]


def test_a_broken_rule_is_a_refusal_with_its_figure() -> None:
    findings = rule_findings(resolved("rtx6000-a", None, ("VLLM_MOE_W2_DELTA_GB=7",)))
    (broken,) = [finding for finding in findings if finding.stops]
    assert broken.id == "RULE.POOL_CEILING"
    assert "6 GiB" in broken.required
    assert broken.source
    assert broken.fix

"""RULE.*: what the settings of one profile say about each other, judged before anything is launched."""

from moet_boot.profile.rules.result import RuleResult
from moet_boot.profile.rules.table import RULES, check_rules

__all__ = ["RULES", "RuleResult", "check_rules"]

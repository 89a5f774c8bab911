"""From what a person asked for to a verdict: resolve, plan, look, forecast, judge."""

from moet_boot.preflight.prepare import Prepared, plan_for, prepare
from moet_boot.preflight.request import Request, Verify, read_request
from moet_boot.preflight.verdict import Level, Verdict, judge

__all__ = ["Level", "Prepared", "Request", "Verdict", "Verify", "judge", "plan_for", "prepare", "read_request"]

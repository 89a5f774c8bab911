"""From what a person asked for to a verdict: resolve, plan, look, forecast, judge.

What a missing fact means depends on where the facts come from (`checks.finding.Sight`). On a live machine a check
that cannot be made is a refusal where its absence could hide a freeze, else a warning. In a replayed snapshot it is
skipped, with the reason; where its absence could hide a freeze the verdict is refuse all the same (`blind`). A dry
run skips it and nothing follows.
"""

from moet_boot.preflight.prepare import Prepared, plan_for, prepare
from moet_boot.preflight.request import Request, Verify, read_request
from moet_boot.preflight.verdict import Level, Verdict, judge

__all__ = ["Level", "Prepared", "Request", "Verdict", "Verify", "judge", "plan_for", "prepare", "read_request"]

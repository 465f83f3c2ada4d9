"""One case through everything: is the release safe, true, without a leak, as claimed; was a refusal right?

Every check yields findings; a finding is a difference between what the product says and what the definitions do.
"""

from __future__ import annotations

import time

import shoal

from .refusals import check_refusal, check_refused
from .releases import check_release
from .results import Result, hand_over, policy_of, says_not_found, shorten
from .setting import Case, Setting, build_table


def run_case(case: Case, *, thorough: bool = True) -> Result:
    """Take a case through every check."""
    started = time.perf_counter()
    result = Result(case)
    setting = Setting(case)
    with policy_of(case) as policy:
        try:
            release = shoal.anonymize(hand_over(case, build_table(case["columns"])), policy)
        except shoal.Infeasible as error:
            result.outcome = "not-found" if says_not_found(error) else "infeasible"
            check_refusal(result, setting, policy, error, thorough=thorough)
        except shoal.AuditFailed as error:
            result.find("audit-failed", f"anonymize: {shorten(error)}")
        except shoal.ShoalError as error:
            result.outcome = f"refused: {type(error).__name__}"
            check_refused(result, setting, error)
        except Exception as error:  # anything else is a crash, and a crash is a finding
            result.find("crash", f"{type(error).__name__}: {shorten(error)}")
        else:
            check_release(result, setting, policy, release, thorough=thorough)
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result

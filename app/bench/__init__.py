"""Measures methods, the studio itself and its reliability, and judges their claims.

`bench_all` yields one Verdict a target; `TARGETS` are the ones that are no method.

It deliberately runs nothing in the calling process: every measurement has a process of its own.
"""

from app.bench.runner import TARGETS, bench_all

__all__ = ["TARGETS", "bench_all"]

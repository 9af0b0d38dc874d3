"""What a command tells its caller by its exit code."""

from __future__ import annotations

__all__ = ["BAD_INPUT", "EXCEEDED", "GOOD"]

GOOD = 0
EXCEEDED = 1
"""A validation found more than its thresholds allow."""
BAD_INPUT = 2
"""Bad input, a missing package, a full disk or an interrupt: one line on stderr, nothing kept."""

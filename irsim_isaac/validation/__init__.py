"""Where two simulators disagree: scenarios, metrics, reports."""

from __future__ import annotations

__all__: list[str] = []

"""Messages kept: MCAP, JSON lines and TUM trajectories."""

from __future__ import annotations

from irsim_isaac.recording.entry import Entry
from irsim_isaac.recording.recording import Recorder, convert, entries, read, record, sources

__all__ = ["Entry", "Recorder", "convert", "entries", "read", "record", "sources"]

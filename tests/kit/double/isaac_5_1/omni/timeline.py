"""The timeline of 5.1: its events come by its stream alone."""

from omni.timeline_double import TimelineEventType, get_timeline_interface

__all__ = ["TimelineEventType", "get_timeline_interface"]

"""The timeline of 6.x: its events come by its stream and by the event dispatcher."""

from carb.eventdispatcher import get_eventdispatcher
from omni.timeline_double import TimelineEventType, get_timeline_interface

__all__ = [
    "GLOBAL_EVENT_PAUSE",
    "GLOBAL_EVENT_PLAY",
    "GLOBAL_EVENT_STOP",
    "TimelineEventType",
    "get_timeline_interface",
]

GLOBAL_EVENT_PLAY = "omni.timeline.play"
GLOBAL_EVENT_PAUSE = "omni.timeline.pause"
GLOBAL_EVENT_STOP = "omni.timeline.stop"

_NAMES = {
    TimelineEventType.PLAY: GLOBAL_EVENT_PLAY,
    TimelineEventType.PAUSE: GLOBAL_EVENT_PAUSE,
    TimelineEventType.STOP: GLOBAL_EVENT_STOP,
}

get_timeline_interface().listeners.append(
    lambda event: get_eventdispatcher().dispatch_event(_NAMES[event])
)

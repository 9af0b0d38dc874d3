"""The ``.msg`` text of the types that no ROS distribution has.

They carry everything that our messages hold, so that what goes through them comes back the
same: counts and stamps of any header in full, angles as float64. ``std_msgs/Header`` stands
first in a world state, where tools look for a stamp.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DEFINITIONS"]

_HEADER = """\
# Metadata of a message, with the count that ROS 2 headers lack and the stamp in full.
int64 seq
float64 stamp                                # [s]
string frame_id
"""

_ODOMETRY = """\
irsim_msgs/Header header
string child_frame_id
geometry_msgs/PoseWithCovariance pose
geometry_msgs/TwistWithCovariance twist
"""

_LASER_SCAN = """\
irsim_msgs/Header header
float64 angle_min                            # [rad]
float64 angle_max                            # [rad]
float64 angle_increment                      # [rad]
float64 time_increment                       # [s]
float64 scan_time                            # [s]
float64 range_min                            # [m]
float64 range_max                            # [m]
float32[] ranges                             # [m]
float32[] intensities
"""

_CONTACT_STATE = """\
int64 other_id
string other
geometry_msgs/Point point
geometry_msgs/Vector3 normal
float64 depth                                # [m]
float64 force                                # [N]
"""

_OBJECT_STATE = """\
irsim_msgs/Header header
int64 id
string name
string role
string[] kinematics                          # empty for none
string shape
irsim_msgs/Odometry odom
irsim_msgs/LaserScan[] scan                  # empty for none, and where it is the first of scans
bool scan_is_first
float64[] goal                               # row-major; with goal_shape empty too: none
uint32[] goal_shape
bool is_static
bool arrive
bool collision
int64[] collision_ids
irsim_msgs/LaserScan[] scans
geometry_msgs/Vector3 contact_force          # [N]
float64 contact_time                         # [s]
float64 air_time                             # [s]
irsim_msgs/ContactState[] contacts
"""

_WORLD_STATE = """\
std_msgs/Header header
int64 seq
float64 stamp                                # [s]
string name
string status
float64 step_time                            # [s]
irsim_msgs/ObjectState[] objects
"""

DEFINITIONS: Mapping[str, str] = {
    "irsim_msgs/Header": _HEADER,
    "irsim_msgs/Odometry": _ODOMETRY,
    "irsim_msgs/LaserScan": _LASER_SCAN,
    "irsim_msgs/ContactState": _CONTACT_STATE,
    "irsim_msgs/ObjectState": _OBJECT_STATE,
    "irsim_msgs/WorldState": _WORLD_STATE,
}
"""The text of each type by its name, every type after those that it is made of."""

"""PhysX on the CPU, as ``ovphysx`` brings it: the one module that imports that package.

Everything here is in the stage's own units and axes; quaternions are x, y, z, w.
"""

from __future__ import annotations

import itertools
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import MissingPackageError, SimulatorError
from irsim_isaac.kernels import start

__all__ = ["BodyState", "ContactPoint", "PhysxEngine"]

_PARSED = 1
"""The ordinal at which a stage is populated and read."""

_numbers = itertools.count()
_prepared: list[bool] = []


@dataclass(frozen=True, slots=True)
class BodyState:
    """How a body moves, in the world frame.

    Attributes:
        position: Of its origin, shape (3,).
        quaternion: x, y, z, w, shape (4,).
        linear: The velocity of its centre of mass a second, shape (3,).
        angular: [rad/s], shape (3,).
    """

    position: npt.NDArray[np.float64]
    quaternion: npt.NDArray[np.float64]
    linear: npt.NDArray[np.float64]
    angular: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ContactPoint:
    """Where two bodies touch.

    Attributes:
        other: The prim path of the other body; empty where it has none.
        point: Shape (3,).
        normal: Along it the force acts on the body that was asked about, shape (3,).
        force: Along the normal, not negative.
        separation: The gap; negative where they overlap.
    """

    other: str
    point: npt.NDArray[np.float64]
    normal: npt.NDArray[np.float64]
    force: float
    separation: float


def _prepare() -> tuple[Any, Any, Any]:
    """Import PhysX and, the first time, make it run on the CPU and quietly."""
    try:
        import ovphysx
        import ovstage
        from ovphysx import types
    except ImportError as error:
        raise MissingPackageError("ovphysx", "physx") from error
    if not _prepared:
        # Its messages go to logging, where the host decides about them.
        logging.getLogger("ovphysx").addHandler(logging.NullHandler())
        ovphysx.enable_python_logging(logger_name="ovphysx")
        ovphysx.enable_default_log_output(False)
        ovstage.population.register_usd_schemas(_schema_folders(ovphysx))
        ovphysx.PhysX.set_cpu_mode(True)
        start()
        _prepared.append(True)
    return ovphysx, ovstage, types


def _schema_folders(ovphysx: Any) -> list[str]:
    """Return where the schemas lie that stages for PhysX use."""
    try:
        package = metadata.distribution("physx-usd-schemas")
        newton = ovphysx.newton_schema_root()
    except (metadata.PackageNotFoundError, FileNotFoundError) as error:
        raise MissingPackageError("physx_usd_schemas, newton_usd_schemas", "physx") from error
    modules = ("PhysxSchema", "OmniUsdPhysicsDeformableSchema")
    folders = [package.locate_file(f"physx_usd_schemas/{name}/resources") for name in modules]
    return [str(folder) for folder in (*folders, newton)]


class PhysxEngine:
    """One stage in PhysX.

    What is set is kept until PhysX is stepped or read and handed over then, each attribute once
    for all objects: a session of ``ovphysx`` costs the same for one object as for a hundred.

    Attributes:
        mass_centres: The centre of mass of each body in its own frame, by prim path.

    Args:
        path: The USD file.
        meters: The length of its unit [m].

    Raises:
        MissingPackageError: ``ovphysx`` or the schemas are not installed.
        SimulatorError: PhysX cannot load the stage, or has another of other units open.
    """

    _open: ClassVar[dict[int, float]] = {}

    def __init__(self, path: str | os.PathLike[str], *, meters: float = 1.0) -> None:
        others = {other for other in self._open.values() if other != meters}
        if others:
            raise SimulatorError(
                f"physx: the stage is in units of {meters:g} m while another simulator of this "
                f"process has one in units of {others.pop():g} m; PhysX has one unit of length "
                "for a process: close the other, or use another process"
            )
        ovphysx, ovstage, self._types = _prepare()
        self._stage = ovstage.Stage(f"irsim_isaac_{next(_numbers)}")
        self._physx: Any = None
        self._paths: Any = None
        self._handles: dict[str, int] = {}
        self._known: dict[int, str] = {}
        self._queries: dict[Any, Any] = {}
        self._columns: dict[int, str] = {}
        self._unset: dict[tuple[Any, str], dict[str, npt.NDArray[np.float64]]] = {}
        self._links_stale = False
        self._open[id(self)] = meters
        try:
            ovstage.population.open_usd(
                self._stage,
                os.fspath(path),
                ordinal=_PARSED,
                domains=ovstage.PopulationDomain.ALL,
            )
            self._stage.advance_write_floor(ordinal=_PARSED).wait()
            self._physx = ovphysx.PhysX()
            self._physx.wait_task(self._physx.attach_ovstage(self._stage, read_ordinal=_PARSED))
            self._physx.warmup()
            self._physx.wait_all()
            self._paths = ovstage.PathDictionary(self._stage)
            with warnings.catch_warnings():
                # With its first arrays PhysX warns that this Warp could use a GPU, if there were
                # one.
                warnings.simplefilter("ignore", RuntimeWarning)
                self.mass_centres = self._mass_centres()
        except RuntimeError as error:
            self.close()
            raise SimulatorError(f"physx: {path}: {' '.join(str(error).split())}") from error

    def close(self) -> None:
        """Let go of the stage; closing twice is no error."""
        self._open.pop(id(self), None)
        for query in self._queries.values():
            query.close()
        self._queries = {}
        if self._paths is not None:
            self._paths.destroy()
            self._paths = None
        if self._physx is not None:
            if self._physx.is_stage_attached(self._stage):
                self._physx.wait_task(self._physx.detach_ovstage())
            self._physx.destroy()
            self._physx = None
        if self._stage is not None:
            self._stage.destroy()
            self._stage = None

    def step(self, seconds: float) -> None:
        """Go on by one step of the solver."""
        self._hand_over()
        self._physx.step_sync(seconds)

    def bodies(self, *, links: bool) -> dict[str, BodyState]:
        """Return how bodies move, by prim path.

        Args:
            links: The links of articulations, else the bodies that stand alone.
        """
        kind = self._types.SimObjectType
        columns = self._read(
            kind.ARTICULATION_LINK if links else kind.RIGID_BODY,
            ("position", "orientation", "linearVelocity", "angularVelocity"),
        )
        return {path: BodyState(*values) for path, values in columns.items() if len(values) == 4}

    def _mass_centres(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return the centre of mass of each body in its own frame, by prim path."""
        kind = self._types.SimObjectType
        name = ("centerOfMassPosition",)
        columns = self._read(kind.RIGID_BODY, name) | self._read(kind.ARTICULATION_LINK, name)
        return {path: values[0] for path, values in columns.items()}

    def joint_values(self, paths: Sequence[str]) -> list[float]:
        """Return the positions of joints with one axis [degrees or lengths]."""
        values = self._read_arrays(
            self._types.SimObjectType.ARTICULATION_JOINT, ("jointPosition",), paths
        )["jointPosition"]
        return [float(values[path][0]) for path in paths]

    def set_joints(self, attribute: str, values: Mapping[str, float]) -> None:
        """Set one attribute of joints with one axis.

        Args:
            attribute: ``jointVelocityTarget``, ``jointPositionTarget``, ``jointPosition`` or
                ``jointVelocity``.
            values: Degrees (a second) or lengths (a second), by joint path.
        """
        self._write(
            self._types.SimObjectType.ARTICULATION_JOINT,
            attribute,
            {path: np.array([value]) for path, value in values.items()},
        )

    def place_body(self, path: str, state: BodyState, *, kinematic: bool = False) -> None:
        """Put a body that stands alone somewhere, with a velocity."""
        kind = self._types.SimObjectType.RIGID_BODY
        # PhysX rounds each anew with the other: the position is the last to be written.
        self._write(kind, "orientation", {path: state.quaternion})
        self._write(kind, "position", {path: state.position})
        if kinematic:
            # It rests there: a kinematic body has no velocity of its own.
            self._write(kind, "kinematicTargetPosition", {path: state.position})
            self._write(kind, "kinematicTargetOrientation", {path: state.quaternion})
        else:
            self.set_velocity(path, state.linear, state.angular)

    def set_velocity(
        self, path: str, linear: npt.NDArray[np.float64], angular: npt.NDArray[np.float64]
    ) -> None:
        """Give a body that stands alone a velocity."""
        kind = self._types.SimObjectType.RIGID_BODY
        self._write(kind, "linearVelocity", {path: linear})
        self._write(kind, "angularVelocity", {path: angular})

    def place_articulation(self, path: str, state: BodyState) -> None:
        """Put the root link of an articulation somewhere, with a velocity.

        Args:
            path: The prim that carries the articulation root.
            state: Of the root link.
        """
        kind = self._types.SimObjectType.ARTICULATION
        # PhysX rounds each anew with the other: the position is the last to be written.
        self._write(kind, "rootOrientation", {path: state.quaternion})
        self._write(kind, "rootPosition", {path: state.position})
        self._write(kind, "rootLinearVelocity", {path: state.linear})
        self._write(kind, "rootAngularVelocity", {path: state.angular})

    def update_links(self) -> None:
        """Bring the links of articulations to where their joints and roots have been put."""
        self._links_stale = True

    def contacts(self) -> dict[str, list[ContactPoint]]:
        """Return what each body with a contact report touched in the last step, by prim path."""
        names = (
            *("rawContactOtherBody", "rawContactPoint", "rawContactNormal"),
            *("rawContactForce", "rawContactSeparation"),
        )
        columns = self._read_arrays(self._types.SimObjectType.CONTACT_SENSOR, names)
        found: dict[str, list[ContactPoint]] = {}
        for path, others in columns[names[0]].items():
            points, normals, forces, gaps = (columns[name][path] for name in names[1:])
            found[path] = [
                ContactPoint(
                    self._path(int(other)),
                    np.asarray(point, dtype=np.float64),
                    # The normal may point either way; the force along it has the sign.
                    np.asarray(normal, dtype=np.float64) * (1.0 if force >= 0.0 else -1.0),
                    abs(float(force)),
                    float(gap),
                )
                for other, point, normal, force, gap in zip(
                    others, points, normals, forces, gaps, strict=True
                )
            ]
        return found

    def _path(self, handle: int) -> str:
        path = self._known.get(handle)
        if path is None:
            path = self._known[handle] = self._paths.path_to_string(handle) if handle else ""
        return path

    def _handle(self, path: str) -> int:
        handle = self._handles.get(path)
        if handle is None:
            handle = self._handles[path] = self._paths.intern_path(path)
        return handle

    def _prims(self, group: Any) -> list[str]:
        """Return the prims of a group; its session must still be open."""
        handles = self._paths.get_paths(group.prim_list)
        first = group.prim_offset
        return [self._path(handle) for handle in handles[first : first + group.prim_count]]

    def _query(self, kind: Any, paths: Sequence[str] | None) -> Any:
        """Return the selection of all objects of a kind, or of some; the former is kept."""
        if paths is not None:
            handles = [self._handle(path) for path in paths]
            return self._physx.query(kind, prim_paths=handles, metadata=False).wait()
        query = self._queries.get(kind)
        if query is None:
            query = self._physx.query(kind, scope=self._types.ObjectScope.ALL, metadata=False)
            query = self._queries[kind] = query.wait()
        return query

    def _groups(
        self, kind: Any, names: Sequence[str], paths: Sequence[str] | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Give the groups of columns of objects, each with the name of its column.

        A group is good until the next one is asked for; what is kept of it must be a copy.
        """
        self._hand_over()
        query = self._query(kind, paths)
        with self._physx.read(query, list(names)).wait() as result:
            while (group := result.fetch_next().wait()) is not None:
                yield self._column(group.attribute), group
        if paths is not None:
            query.close()

    def _column(self, token: int) -> str:
        name = self._columns.get(token)
        if name is None:
            name = self._columns[token] = self._paths.token_to_string(token)
        return name

    def _read(self, kind: Any, names: Sequence[str]) -> dict[str, list[npt.NDArray[np.float64]]]:
        """Return columns with one row an object, by prim path, in the order of the names."""
        rows: dict[str, list[npt.NDArray[np.float64]]] = {}
        order = {name: index for index, name in enumerate(names)}
        for name, group in self._groups(kind, names):
            # Instances of an instancer come as arrays and are not addressed one by one.
            if group.is_array or not group.tensors or name not in order:
                continue
            values = np.array(group.tensors[0].numpy(), dtype=np.float64)
            for path, value in zip(self._prims(group), values, strict=True):
                row = rows.setdefault(path, [np.empty(0)] * len(names))
                row[order[name]] = value
        return rows

    def _read_arrays(
        self, kind: Any, names: Sequence[str], paths: Sequence[str] | None = None
    ) -> dict[str, dict[str, npt.NDArray[Any]]]:
        """Return columns with one array an object, by name and prim path."""
        columns: dict[str, dict[str, npt.NDArray[Any]]] = {name: {} for name in names}
        for name, group in self._groups(kind, names, paths):
            for path, tensor in zip(self._prims(group), group.tensors, strict=True):
                columns[name][path] = np.array(tensor.numpy())
        return columns

    def _write(
        self, kind: Any, attribute: str, values: Mapping[str, npt.NDArray[np.float64]]
    ) -> None:
        """Have one attribute of objects set, by prim path."""
        if values:
            self._unset.setdefault((kind, attribute), {}).update(values)

    def _hand_over(self) -> None:
        """Set what was to be set, in the order in which it was asked for."""
        try:
            for (kind, attribute), values in self._unset.items():
                self._set(kind, attribute, values)
        finally:
            self._unset = {}
        if self._links_stale:
            self._links_stale = False
            self._physx.update_articulations_kinematic()

    def _set(
        self, kind: Any, attribute: str, values: Mapping[str, npt.NDArray[np.float64]]
    ) -> None:
        """Set one attribute of objects by prim path."""
        handles = [self._handle(path) for path in values]
        done = 0
        with self._physx.write_sync(kind, attribute, prim_paths=handles) as session:
            for group in session.groups:
                # Joints come as one tensor each, everything else as rows of one tensor.
                apart = len(group.tensors) == group.prim_count
                for index, path in enumerate(self._prims(group)):
                    target = group.tensors[index if apart else 0].numpy()
                    (target if apart else target[index]).reshape(-1)[:] = values[path]
                    done += 1
                session.commit_sync(group)
        if done != len(values):
            raise SimulatorError(
                f"physx: {attribute} of {done} objects could be set, {len(values)} were expected: "
                f"{', '.join(values)}"
            )

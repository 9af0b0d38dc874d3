"""What a stage holds that can stand in a robot's way, in metres with z up."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import StageError
from irsim_isaac.map import Omission
from irsim_isaac.stage.bounding import bounding_ball
from irsim_isaac.stage.hulls import convex_hull
from irsim_isaac.stage.metrics import metric_differences
from irsim_isaac.stage.shapes import Shape, segment_count, tessellate
from irsim_isaac.stage.solids import classify_meshes, orient_faces
from irsim_isaac.stage.triangulation import triangulate
from irsim_isaac.stage.units import StageUnits, stage_units
from irsim_isaac.stage.usd import Gf, Usd, UsdGeom

__all__ = ["Geometry", "Part", "Progress", "Solid", "Source", "read_geometry"]

Source: TypeAlias = Literal["visual", "collision", "both"]
Solid: TypeAlias = Literal["sheet", "closed", "filled"]
Progress: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One surface of a stage.

    Attributes:
        path: The prim; an instance of a PointInstancer is ``/path[id]/prototype/prim``.
        points: Vertices [m] in the world with z up, float64, shape (n, 3).
        triangles: Vertex numbers, int32, shape (m, 3); of solids, outward.
        solid: A ``"sheet"`` has no inside; the inside of a ``"closed"`` mesh is unknown; that
            of a ``"filled"`` one (implicit shapes, convex, box and sphere colliders) occupied.
        body: The prim of the rigid body or articulation that moves it, None where it stands.
        source: Whether a lidar sees it or physics touches it.
    """

    path: str
    points: NDArray[np.float64]
    triangles: NDArray[np.int32]
    solid: Solid
    body: str | None = None
    source: Literal["visual", "collision"] = "visual"


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """The surfaces of a stage, and what was left out.

    Attributes:
        parts: The surfaces, in the order of the stage.
        omissions: Every prim left out, and why.
        warnings: What had to be assumed.
        units: The stage's own units.
    """

    parts: tuple[Part, ...]
    omissions: tuple[Omission, ...] = ()
    warnings: tuple[str, ...] = ()
    units: StageUnits = field(default_factory=lambda: StageUnits(1.0, "Z"))

    @property
    def triangle_count(self) -> int:
        """The triangles of all parts."""
        return sum(len(part.triangles) for part in self.parts)


def read_geometry(
    stage: Usd.Stage,
    *,
    source: Source = "visual",
    root: str = "/",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    static_only: bool = False,
    include_invisible: bool = False,
    include_guides: bool = False,
    time: float | None = None,
    time_code: float | None = None,
    tolerance: float = 5e-4,
    finest: float | None = None,
    progress: Progress | None = None,
) -> Geometry:
    """Read every surface of a stage.

    Instances and PointInstancers are expanded, world transforms composed, polygons split.

    Args:
        stage: An open stage.
        source: ``"visual"`` is what an RTX lidar sees: visible prims of purpose default and
            render, proxy where there is no render. ``"collision"`` is what PhysX touches:
            prims with an enabled CollisionAPI, their own or an ancestor's, in the shape that
            their approximation declares. ``"both"`` reads the two.
        root: Only what lies at or below this prim.
        include: Only prims at or below a match of one of these path globs; ``*`` stays within
            a name, ``**`` crosses ``/``.
        exclude: No prims at or below a match of one of these path globs.
        static_only: Leave out what a rigid body or an articulation moves.
        include_invisible: Read invisible prims as if they were visible.
        include_guides: Read prims of purpose guide as well.
        time: The time [s] to read at; without it defaults count, and the first sample of what
            has no default.
        time_code: The same in time codes.
        tolerance: How far [m] the corners of a round shape may lie outside it.
        finest: Draw round shapes as finely as this [m] while all of them together take no more
            than a million triangles.
        progress: Called as ``progress(done, total, what)``.

    Returns:
        The geometry.

    Raises:
        StageError: The units are nonsense, there is no prim at ``root``, or the source has
            another name.
    """
    if source not in ("visual", "collision", "both"):
        raise StageError(f"the source is '{source}', 'visual', 'collision' or 'both' was expected")
    units = stage_units(stage)
    start = stage.GetPrimAtPath(root) if root.startswith("/") else None
    if not start:
        raise StageError(f"{stage.GetRootLayer().identifier}: there is no prim at '{root}'")
    reader = _Reader(
        stage=stage,
        sources=("visual", "collision") if source == "both" else (source,),
        include=[_glob(pattern) for pattern in include],
        exclude=[_glob(pattern) for pattern in exclude],
        static_only=static_only,
        include_invisible=include_invisible,
        include_guides=include_guides,
        time=_time_code(stage, time, time_code),
        progress=progress,
    )
    reader.read(start)
    reader.name_composition_errors()
    parts = _finish(reader, units, _round_tolerance(reader, units, tolerance, finest))
    warnings = [*units.warnings, *map(str, metric_differences(stage))]
    if reader.cages:
        shown = ", ".join(reader.cages[:3]) + (", ..." if len(reader.cages) > 3 else "")
        warnings.append(
            f"{len(reader.cages)} subdivision surfaces are read by their control cage: {shown}"
        )
    if reader.approximated:
        shown = ", ".join(reader.approximated[:3])
        shown += ", ..." if len(reader.approximated) > 3 else ""
        warnings.append(
            f"{len(reader.approximated)} colliders are read by their mesh because their "
            f"approximation is the physics engine's own: {shown}"
        )
    return Geometry(tuple(parts), tuple(reader.omissions), tuple(warnings), units)


def _time_code(stage: Usd.Stage, time: float | None, time_code: float | None) -> Usd.TimeCode:
    if time is not None and time_code is not None:
        raise StageError("time and time_code were both given, one of them was expected")
    for name, value in (("time", time), ("time_code", time_code)):
        if value is not None and not math.isfinite(value):
            raise StageError(f"{name} is {value}, a finite number was expected")
    if time is not None:
        rate = stage.GetTimeCodesPerSecond()
        if not (math.isfinite(rate) and rate > 0.0):
            raise StageError(
                f"{stage.GetRootLayer().identifier}: timeCodesPerSecond is {rate:g}, a positive "
                "number was expected; give time_code instead of time"
            )
        return Usd.TimeCode(time * rate)
    return Usd.TimeCode.Default() if time_code is None else Usd.TimeCode(time_code)


def _glob(pattern: str) -> re.Pattern[str]:
    """Compile a path glob; one that does not start at the root matches anywhere."""
    anchored = pattern if pattern.startswith(("/", "**")) else f"**/{pattern}"
    pieces = []
    for piece in re.split(r"(\*\*/?|\*|\?)", anchored.rstrip("/")):
        if piece.startswith("**"):
            pieces.append("(?:.*/)?" if piece.endswith("/") else ".*")
        else:
            pieces.append({"*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece)))
    return re.compile("".join(pieces))


@dataclass(slots=True)
class _Piece:
    """A surface in its prim's frame, and where that frame lies in the stage."""

    path: str
    shape: Shape | None
    mesh: int
    matrix: NDArray[np.float64]
    body: str | None
    source: Literal["visual", "collision"]
    fill: bool


@dataclass(frozen=True, slots=True)
class _State:
    """What a prim hands down to its children."""

    matrix: Any
    visible: bool = True
    purpose: str = "default"
    body: str | None = None
    articulation: str | None = None
    collides: bool | None = None
    approximation: str = "none"
    included: bool = False


_SHAPES = {
    "Cube", "Sphere", "Cylinder", "Cylinder_1", "Cone", "Capsule", "Capsule_1", "Plane",
}  # fmt: skip
_NO_SURFACE = "has no surface that a robot could meet"


@dataclass(slots=True)
class _Reader:
    """One pass over a stage."""

    stage: Usd.Stage
    sources: tuple[Literal["visual", "collision"], ...]
    include: list[re.Pattern[str]]
    exclude: list[re.Pattern[str]]
    static_only: bool
    include_invisible: bool
    include_guides: bool
    time: Usd.TimeCode
    progress: Progress | None
    pieces: list[_Piece] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    meshes: list[tuple[NDArray[np.float64], NDArray[np.int32]]] = field(default_factory=list)
    mesh_numbers: dict[tuple[str, str], int | str] = field(default_factory=dict)
    cages: list[str] = field(default_factory=list)
    approximated: list[str] = field(default_factory=list)
    render_scopes: dict[str, bool] = field(default_factory=dict)
    instancers: tuple[str, ...] = ()
    seen: int = 0

    def read(self, start: Usd.Prim) -> None:
        """Read everything at and below a prim of the stage."""
        state = _State(Gf.Matrix4d(1.0), included=not self.include)
        above = []
        prim = start.GetParent()
        while prim and not prim.IsPseudoRoot():
            above.append(prim)
            prim = prim.GetParent()
        for prim in reversed(above):
            if (reason := self._reason_to_prune(prim)) is not None:
                self._omit(str(start.GetPath()), reason[0], f"its ancestor {reason[1]}")
                return
            state = self._inherit(prim, state)
        self._walk(start, state)

    def name_composition_errors(self) -> None:
        """Name what could not be composed, such as a reference to a missing file."""
        for error in self.stage.GetCompositionErrors():
            text = " ".join(str(error).split())
            where = getattr(error, "rootSite", None)
            path = str(where.path) if where is not None else "/"
            self._omit(path, "composition", text)

    def _omit(self, where: str, kind: str, reason: str) -> None:
        self.omissions.append(Omission(where, kind, reason))

    def _walk(self, start: Usd.Prim, state: _State, *, keep_matrix: bool = False) -> None:
        """Visit a prim and all below it, handing states down.

        Args:
            start: The prim to begin with.
            state: What its ancestors hand down.
            keep_matrix: Leave out its own transform: that of a prototype is in its instances'.
        """
        states = [state]
        prims = Usd.PrimRange.PreAndPostVisit(
            start, Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate)
        )
        visits = iter(prims)
        for prim in visits:
            if visits.IsPostVisit():
                states.pop()
                continue
            above = states[-1]
            if (reason := self._reason_to_prune(prim)) is not None:
                self._omit(str(prim.GetPath()), *reason)
                visits.PruneChildren()
                states.append(above)
                continue
            own = self._inherit(prim, above)
            if keep_matrix and prim == start:
                own = replace(own, matrix=above.matrix)
            states.append(own)
            self.seen += 1
            if self.progress is not None and self.seen % 1000 == 0:
                self.progress(self.seen, self.seen, "reading prims")
            if prim.IsA(UsdGeom.PointInstancer):
                visits.PruneChildren()
                self._expand(UsdGeom.PointInstancer(prim), own)
            elif prim.IsA(UsdGeom.Gprim):
                self._read_gprim(prim, own)

    def _reason_to_prune(self, prim: Usd.Prim) -> tuple[str, str] | None:
        """Say why nothing at or below a prim is part of the scene."""
        if prim.IsPseudoRoot():
            return None
        if not prim.IsActive():
            return "inactive", "is not active"
        if not prim.IsLoaded():
            return "unloaded", "holds a payload that is not loaded"
        specifier = prim.GetSpecifier()
        if specifier.displayName == "Class":
            return "class", "is a class, which only its heirs show"
        if specifier.displayName == "Over":
            return "over", "is an over of a prim that nothing defines"
        if self.exclude:
            path = str(prim.GetPath())
            for pattern in self.exclude:
                if pattern.fullmatch(path):
                    return "excluded", "matches a glob of exclude"
        return None

    def _value(self, attribute: Any) -> Any:
        """Read an attribute: at the time asked for, else its default, else its first sample."""
        value = attribute.Get(self.time)
        if value is None and self.time.IsDefault():
            value = attribute.Get(Usd.TimeCode.EarliestTime())
        return value

    def _local_matrix(self, xform: Any) -> Any:
        if self.time.IsDefault() and xform.GetTimeSamples():
            local = Gf.Matrix4d(1.0)
            for op in reversed(xform.GetOrderedXformOps()):
                has_default = op.GetAttr().Get(self.time) is not None
                when = self.time if has_default else Usd.TimeCode.EarliestTime()
                local *= op.GetOpTransform(when)
            return local
        return xform.GetLocalTransformation(self.time)

    def _inherit(self, prim: Usd.Prim, above: _State) -> _State:
        """Return what a prim makes of what it is handed."""
        changes: dict[str, Any] = {}
        xform = UsdGeom.Xformable(prim)
        if xform:
            local = self._local_matrix(xform)
            changes["matrix"] = local if xform.GetResetXformStack() else local * above.matrix
        imageable = UsdGeom.Imageable(prim)
        if imageable:
            if above.visible and self._value(imageable.GetVisibilityAttr()) == "invisible":
                changes["visible"] = False
            if above.purpose == "default":
                purpose = self._value(imageable.GetPurposeAttr()) or "default"
                if purpose == "proxy" and not self._has_render(prim):
                    purpose = "lone proxy"
                changes["purpose"] = purpose
        schemas = prim.GetAppliedSchemas()
        if schemas:
            self._inherit_physics(prim, schemas, changes)
        if self.include and not above.included:
            path = str(prim.GetPath())
            changes["included"] = any(pattern.fullmatch(path) for pattern in self.include)
        return replace(above, **changes) if changes else above

    def _inherit_physics(
        self, prim: Usd.Prim, schemas: Sequence[str], changes: dict[str, Any]
    ) -> None:
        if "PhysicsRigidBodyAPI" in schemas:
            enabled = self._value(prim.GetAttribute("physics:rigidBodyEnabled"))
            if enabled is not False:
                changes["body"] = str(prim.GetPath())
        if "PhysicsArticulationRootAPI" in schemas:
            changes["articulation"] = str(prim.GetPath())
        if "PhysicsCollisionAPI" in schemas:
            enabled = self._value(prim.GetAttribute("physics:collisionEnabled"))
            changes["collides"] = enabled is not False
            changes["approximation"] = "none"
        if "PhysicsMeshCollisionAPI" in schemas:
            declared = self._value(prim.GetAttribute("physics:approximation"))
            changes["approximation"] = declared or "none"

    def _has_render(self, proxy: Usd.Prim) -> bool:
        """Tell whether a prim of purpose proxy has a render counterpart.

        It has one where a prim names it as its proxy, and where its model, or its parent when
        it belongs to none, holds a prim of purpose render.
        """
        scope = proxy.GetParent()
        model = scope
        while model and not model.IsPseudoRoot():
            if Usd.ModelAPI(model).GetKind() in ("component", "subcomponent"):
                break
            model = model.GetParent()
        whole = bool(model) and not model.IsPseudoRoot()
        scope = model if whole else scope
        key = str(scope.GetPath())
        if key not in self.render_scopes:
            prims: Iterable[Usd.Prim] = (
                Usd.PrimRange(scope, Usd.TraverseInstanceProxies())
                if whole
                else scope.GetFilteredChildren(Usd.TraverseInstanceProxies())
            )
            self.render_scopes[key] = any(
                UsdGeom.Imageable(prim)
                and self._value(UsdGeom.Imageable(prim).GetPurposeAttr()) == "render"
                for prim in prims
            )
        return self.render_scopes[key]

    def _reason_to_skip(self, state: _State, source: str) -> tuple[str, str] | None:
        """Say why a surface does not count, or None when it does."""
        if self.include and not state.included:
            return "excluded", "matches no glob of include"
        body = state.body or state.articulation
        if self.static_only and body is not None:
            what = "rigid body" if state.body is not None else "articulation"
            return "moving", f"is moved by the {what} {body}"
        if source == "collision":
            if state.collides is None:
                return "no collision", "has no CollisionAPI, nor has an ancestor"
            if not state.collides:
                return "no collision", "has its collision disabled"
            return None
        if not state.visible and not self.include_invisible:
            return "invisible", "is invisible, itself or by an ancestor"
        if state.purpose == "proxy":
            return "purpose", "is a proxy beside what has the purpose render"
        if state.purpose == "guide" and not self.include_guides:
            return "purpose", "has the purpose guide"
        return None

    def _read_gprim(self, prim: Usd.Prim, state: _State) -> None:
        path = str(prim.GetPath())
        for source in self.sources:
            if (reason := self._reason_to_skip(state, source)) is not None:
                self._omit(path, *reason)
                continue
            kind = prim.GetTypeName()
            if kind == "Mesh" or prim.IsA(UsdGeom.Mesh):
                self._read_mesh(UsdGeom.Mesh(prim), path, state, source)
            elif kind in _SHAPES:
                self._read_shape(prim, kind, path, state, source)
            else:
                self._omit(path, "no surface", f"a {kind} {_NO_SURFACE}")

    def _add(
        self,
        path: str,
        state: _State,
        source: Literal["visual", "collision"],
        *,
        shape: Shape | None = None,
        mesh: int = -1,
        fill: bool = True,
    ) -> None:
        body = state.body or state.articulation
        matrix = np.array(state.matrix)
        if not np.isfinite(matrix).all():
            self._omit(path, "broken", "has a transform that is not finite")
            return
        self.pieces.append(_Piece(path, shape, mesh, matrix, body, source, fill))

    def _read_shape(
        self,
        prim: Usd.Prim,
        kind: str,
        path: str,
        state: _State,
        source: Literal["visual", "collision"],
    ) -> None:
        def number(name: str) -> float:
            return float(self._value(prim.GetAttribute(name)))

        axis = "Z"
        if kind not in ("Cube", "Sphere"):
            axis = str(self._value(prim.GetAttribute("axis")))
        if kind == "Plane":
            if source == "collision":
                self._omit(path, "infinite plane", "is an infinite plane to physics")
                return
            size = (number("width"), number("length"), 0.0)
            shape = Shape("plane", size=size, axis=axis)
        elif kind == "Cube":
            side = number("size")
            shape = Shape("cube", size=(side, side, side))
        elif kind == "Sphere":
            shape = Shape("sphere", radius=number("radius"))
        else:
            tapered = kind.endswith("_1")
            bottom = number("radiusBottom" if tapered else "radius")
            top = number("radiusTop") if tapered else bottom
            name: Any = kind.removesuffix("_1").lower()
            shape = Shape(name, bottom, top, number("height"), axis=axis)
        values = (shape.radius, shape.top_radius, shape.height, *shape.size)
        if not all(math.isfinite(value) and value >= 0.0 for value in values):
            self._omit(path, "broken", f"a {kind} of sizes {values}, finite ones were expected")
        elif not any(values):
            self._omit(path, "empty", f"a {kind} without size")
        else:
            self._add(path, state, source, shape=shape, fill=kind != "Plane")

    def _read_mesh(
        self,
        mesh: Any,
        path: str,
        state: _State,
        source: Literal["visual", "collision"],
    ) -> None:
        prim = mesh.GetPrim()
        approximation = state.approximation if source == "collision" else "none"
        # All instances of a prototype share its arrays.
        data = prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim
        key = (str(data.GetPath()), "hull" if approximation == "convexHull" else "")
        number = self.mesh_numbers.get(key)
        if number is None:
            number = self._load_mesh(mesh, hull=approximation == "convexHull")
            self.mesh_numbers[key] = number
        if isinstance(number, str):
            kind, _, reason = number.partition(": ")
            self._omit(path, kind, reason)
            return
        scheme = mesh.GetSubdivisionSchemeAttr().Get()
        if scheme not in (None, "none") and source == "visual":
            self.cages.append(path)
        points = self.meshes[number][0]
        if approximation in ("boundingCube", "boundingSphere"):
            self._add(path, state, source, shape=_bounding_shape(points, approximation))
        elif approximation in ("none", "convexHull"):
            self._add(path, state, source, mesh=number, fill=approximation == "convexHull")
        else:
            self.approximated.append(f"{path} ({approximation})")
            self._add(path, state, source, mesh=number, fill=False)

    def _load_mesh(self, mesh: Any, *, hull: bool) -> int | str:
        """Read the arrays of a mesh; return its number, or "kind: reason" when it is broken."""
        raw_points = self._value(mesh.GetPointsAttr())
        points = np.asarray(() if raw_points is None else raw_points)
        if not points.size:
            return "empty: a mesh without points"
        if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind not in "fiu":
            return f"broken: its points are of type {mesh.GetPointsAttr().GetTypeName()}"
        points = points.astype(np.float64)
        counts = self._whole_numbers(mesh.GetFaceVertexCountsAttr())
        indices = self._whole_numbers(mesh.GetFaceVertexIndicesAttr())
        if not len(counts):
            return "empty: a mesh without faces"
        if counts.min() < 0 or counts.sum() != len(indices):
            return (
                f"broken: its faceVertexCounts ask for {counts.sum()} indices, "
                f"there are {len(indices)}"
            )
        if len(indices) and (indices.min() < 0 or indices.max() >= len(points)):
            return (
                f"broken: its indices run from {indices.min()} to {indices.max()}, "
                f"there are {len(points)} points"
            )
        if not np.isfinite(points[indices] if len(points) > len(indices) else points).all():
            return "broken: it has points that are not finite"
        if hull:
            solid = convex_hull(points[np.unique(indices)])
            if solid is None:
                return "broken: its points span no volume, so it has no convex hull"
            self.meshes.append(solid)
            return len(self.meshes) - 1
        holes = self._whole_numbers(mesh.GetHoleIndicesAttr())
        if len(holes) and (holes.min() < 0 or holes.max() >= len(counts)):
            return "broken: a hole index names no face"
        triangles = triangulate(points, counts, indices, holes)
        if self._value(mesh.GetOrientationAttr()) == "leftHanded":
            triangles = np.ascontiguousarray(triangles[:, ::-1])
        if not len(triangles):
            return "empty: a mesh without faces"
        self.meshes.append((points, triangles))
        return len(self.meshes) - 1

    def _whole_numbers(self, attribute: Any) -> NDArray[np.int64]:
        value = self._value(attribute)
        return np.asarray(() if value is None else value, dtype=np.int64)

    def _expand(self, instancer: Any, state: _State) -> None:
        """Read every instance of a PointInstancer."""
        prim = instancer.GetPrim()
        path = str(prim.GetPath())
        if path in self.instancers:
            self._omit(path, "broken", "instances itself")
            return
        targets = instancer.GetPrototypesRel().GetForwardedTargets()
        if prim.IsInstanceProxy():
            targets = [self._proxy_target(prim, target) for target in targets]
        numbers = self._whole_numbers(instancer.GetProtoIndicesAttr())
        if not len(numbers):
            self._omit(path, "empty", "a PointInstancer without instances")
            return
        if not targets or numbers.min() < 0 or numbers.max() >= len(targets):
            self._omit(
                path,
                "broken",
                f"its protoIndices run from {numbers.min()} to {numbers.max()}, "
                f"it has {len(targets)} prototypes",
            )
            return
        matrices = self._instance_matrices(instancer, path, len(numbers))
        if matrices is None:
            return
        shown = instancer.ComputeMaskAtTime(self._sample_time(instancer))
        kept = np.asarray(shown, dtype=bool) if shown else np.ones(len(numbers), dtype=bool)
        ids = self._value(instancer.GetIdsAttr())
        names = np.asarray(ids) if ids and len(ids) == len(numbers) else np.arange(len(numbers))
        for index in np.flatnonzero(~kept):
            self._omit(f"{path}[{names[index]}]", "invisible", "its instancer hides or skips it")
        stage_matrix = np.array(state.matrix)
        for number, target in enumerate(targets):
            rows = np.flatnonzero(kept & (numbers == number))
            if not len(rows):
                continue
            prototype = self.stage.GetPrimAtPath(target)
            if not prototype:
                self._omit(path, "broken", f"its prototype {target} does not exist")
                continue
            inner = replace(state, matrix=Gf.Matrix4d(1.0))
            pieces = self._read_prototype(prototype, inner, path)
            if not pieces:
                continue
            placed = matrices[rows] @ stage_matrix
            for row, matrix in zip(rows, placed, strict=True):
                prefix = f"{path}[{names[row]}]"
                for piece in pieces:
                    body = piece.body
                    if body is not None and body.startswith(str(target)):
                        body = prefix
                    self.pieces.append(
                        _Piece(
                            prefix + piece.path.removeprefix(str(target)),
                            piece.shape,
                            piece.mesh,
                            piece.matrix @ matrix,
                            body,
                            piece.source,
                            piece.fill,
                        )
                    )

    @staticmethod
    def _proxy_target(prim: Usd.Prim, target: Any) -> Any:
        """Bring a prototype named inside an instance to the instance's own proxies."""
        inside = prim.GetPrimInPrototype().GetPath()
        return target.ReplacePrefix(inside, prim.GetPath())

    def _sample_time(self, instancer: Any) -> Usd.TimeCode:
        positions = instancer.GetPositionsAttr()
        if self.time.IsDefault() and positions.Get(self.time) is None:
            return Usd.TimeCode.EarliestTime()
        return self.time

    def _instance_matrices(
        self, instancer: Any, path: str, count: int
    ) -> NDArray[np.float64] | None:
        """Return every instance's matrix, its prototype's own transform in it."""
        positions = self._value(instancer.GetPositionsAttr())
        found = 0 if positions is None else len(positions)
        if found != count:
            self._omit(path, "broken", f"it has {found} positions for {count} instances")
            return None
        for name in ("orientations", "scales"):
            values = self._value(instancer.GetPrim().GetAttribute(name))
            if values is not None and len(values) not in (0, count):
                self._omit(path, "broken", f"it has {len(values)} {name} for {count} instances")
                return None
        when = self._sample_time(instancer)
        matrices = instancer.ComputeInstanceTransformsAtTime(
            when, when, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
        )
        result = np.array(matrices, dtype=np.float64).reshape(-1, 4, 4)
        if len(result) != count:
            self._omit(path, "broken", f"it gives {len(result)} transforms for {count} instances")
            return None
        return result

    def _read_prototype(self, prototype: Usd.Prim, state: _State, instancer: str) -> list[_Piece]:
        """Read a prototype without its own transform, which is in its instances'."""
        outer, outer_instancers = self.pieces, self.instancers
        self.pieces, self.instancers = [], (*self.instancers, instancer)
        try:
            self._walk(prototype, state, keep_matrix=True)
            return self.pieces
        finally:
            self.pieces, self.instancers = outer, outer_instancers


def _bounding_shape(points: NDArray[np.float64], approximation: str) -> Shape:
    low, high = points.min(axis=0), points.max(axis=0)
    x, y, z = (float(value) for value in (low + high) / 2.0)
    if approximation == "boundingCube":
        size = high - low
        return Shape(
            "cube", size=(float(size[0]), float(size[1]), float(size[2])), center=(x, y, z)
        )
    middle, radius = bounding_ball(points)
    x, y, z = (float(value) for value in middle)
    return Shape("sphere", radius=radius, center=(x, y, z))


def _stretched_radius(piece: _Piece, shape: Shape, units: StageUnits) -> float:
    """Return the largest radius [m] that a round shape has in the world."""
    stretch = float(np.linalg.norm(piece.matrix[:3, :3], 2)) * units.meters_per_unit
    return max(shape.radius, shape.top_radius) * stretch


def _round_tolerance(
    reader: _Reader, units: StageUnits, tolerance: float, finest: float | None
) -> float:
    """Return the finest tolerance at which the round shapes stay few triangles."""
    if finest is None or finest >= tolerance:
        return tolerance
    found = [
        (piece.shape.kind in ("sphere", "capsule"), _stretched_radius(piece, piece.shape, units))
        for piece in reader.pieces
        if piece.shape is not None and piece.shape.is_round
    ]
    while finest < tolerance:
        counts = [(segment_count(radius, finest), balls) for balls, radius in found]
        if sum(count**2 if balls else 4 * count for count, balls in counts) <= _ROUND_TRIANGLES:
            break
        finest *= 2.0
    return min(finest, tolerance)


def _finish(reader: _Reader, units: StageUnits, tolerance: float) -> list[Part]:
    """Place every piece in the world, and tell the solids."""
    closed, could_be, volumes = classify_meshes(reader.meshes)
    for number in np.flatnonzero(could_be & ~closed):
        points, triangles = reader.meshes[number]
        turned = points, orient_faces(points, triangles)
        now_closed, _, now_volume = classify_meshes([turned])
        if now_closed[0]:
            reader.meshes[number] = turned
            closed[number], volumes[number] = True, now_volume[0]
    shapes: dict[tuple[Shape, int], tuple[NDArray[np.float64], NDArray[np.int32]]] = {}
    placed = units.matrix
    groups: dict[tuple[int, int], list[int]] = {}
    sources: dict[tuple[int, int], tuple[NDArray[np.float64], NDArray[np.int32]]] = {}
    for index, piece in enumerate(reader.pieces):
        if piece.shape is None:
            mesh = reader.meshes[piece.mesh]
        else:
            segments = _MIN_SEGMENTS
            if piece.shape.is_round:
                segments = segment_count(_stretched_radius(piece, piece.shape, units), tolerance)
            found = shapes.get((piece.shape, segments))
            if found is None:
                found = shapes[(piece.shape, segments)] = tessellate(piece.shape, segments)
            mesh = found
        key = (id(mesh[0]), id(mesh[1]))
        sources[key] = mesh
        groups.setdefault(key, []).append(index)
    parts: list[Part | None] = [None] * len(reader.pieces)
    for key, members in groups.items():
        points, triangles = sources[key]
        matrices = np.stack([reader.pieces[index].matrix for index in members]) @ placed
        worlds = _transform(points, matrices)
        signs = np.linalg.det(matrices[:, :3, :3])
        flipped: NDArray[np.int32] | None = None
        for index, world, sign in zip(members, worlds, signs, strict=True):
            piece = reader.pieces[index]
            is_mesh = piece.shape is None
            solid: Solid = "filled" if piece.fill else "sheet"
            outward = sign
            if is_mesh and not piece.fill and closed[piece.mesh]:
                solid = "closed"
                outward = sign * volumes[piece.mesh]
            if sign == 0.0:
                solid = "sheet"
            if outward < 0.0:
                if flipped is None:
                    flipped = np.ascontiguousarray(triangles[:, ::-1])
                own = flipped
            else:
                own = triangles
            parts[index] = Part(piece.path, world, own, solid, piece.body, piece.source)
    return [part for part in parts if part is not None]


_MIN_SEGMENTS = 8
_ROUND_TRIANGLES = 1_000_000


def _transform(
    points: NDArray[np.float64], matrices: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """Give points in the frames of matrices for row vectors, one array (n, 3) a matrix.

    Every point goes through the same roundings wherever it stands in its array, so that two
    vertices in one place stay in one place; matrix products of BLAS do not promise that.
    """
    x, y, z = (np.ascontiguousarray(points[:, axis]) for axis in range(3))
    # As many matrices at once as keep the arrays small.
    step = max(1, 200_000 // max(1, len(points)))
    for first in range(0, len(matrices), step):
        some = matrices[first : first + step]
        placed = np.empty((len(some), len(points), 3))
        for axis in range(3):
            column = some[:, :, axis, None]
            placed[:, :, axis] = x * column[:, 0] + y * column[:, 1] + z * column[:, 2]
            placed[:, :, axis] += column[:, 3]
        yield from placed

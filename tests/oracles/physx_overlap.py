"""PhysX's own answer to whether a box touches anything: the question of Isaac Sim's maps."""

from __future__ import annotations

import itertools
import warnings
from importlib import metadata
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

_numbers = itertools.count()
_prepared: list[bool] = []


class PhysxOverlap:
    """A stage in PhysX that answers box overlaps; metres and z up.

    Args:
        path: The USD file.
    """

    def __init__(self, path: Path) -> None:
        import ovphysx
        import ovstage

        if not _prepared:
            ovphysx.enable_default_log_output(False)
            package = metadata.distribution("physx-usd-schemas")
            schemas = [
                str(package.locate_file(f"physx_usd_schemas/{name}/resources"))
                for name in ("PhysxSchema", "OmniUsdPhysicsDeformableSchema")
            ]
            ovstage.population.register_usd_schemas([*schemas, str(ovphysx.newton_schema_root())])
            ovphysx.PhysX.set_cpu_mode(True)
            _prepared.append(True)
        self._box = ovphysx.SceneQueryGeometryType.BOX
        self._any = ovphysx.SceneQueryMode.ANY
        self._stage = ovstage.Stage(f"overlap_{next(_numbers)}")
        ovstage.population.open_usd(
            self._stage, str(path), ordinal=1, domains=ovstage.PopulationDomain.ALL
        )
        self._stage.advance_write_floor(ordinal=1).wait()
        self._physx = ovphysx.PhysX()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._physx.wait_task(self._physx.attach_ovstage(self._stage, read_ordinal=1))
            self._physx.warmup()
            self._physx.wait_all()

    def __enter__(self) -> PhysxOverlap:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._physx.wait_task(self._physx.detach_ovstage())
        self._physx.destroy()
        self._stage.destroy()

    def touched(
        self, centers: NDArray[np.float64], half_extent: tuple[float, float, float]
    ) -> NDArray[np.bool_]:
        """Ask for every box whether anything touches it.

        Args:
            centers: [m], shape (n, 3).
            half_extent: Half the sides of the boxes [m].

        Returns:
            bool, shape (n,).
        """
        ask = self._physx.overlap
        extent, upright = list(half_extent), [0.0, 0.0, 0.0, 1.0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array(
                [
                    bool(
                        ask(
                            geometry_type=self._box,
                            mode=self._any,
                            half_extent=extent,
                            position=center,
                            rotation=upright,
                        )
                    )
                    for center in centers.tolist()
                ],
                dtype=bool,
            )

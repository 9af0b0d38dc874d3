"""The lidar sensor of 6.x: None at first, then a Warp array of bytes."""

from __future__ import annotations

from typing import Any

import omni.replicator.core as rep
import omni.usd
import warp as wp
from pxr import Sdf


class LidarSensor:
    def __init__(
        self,
        path: str,
        *,
        annotators: str | list[str] | None = None,
        writers: str | list[str] | None = None,
        render_vars: list[str] | None = None,
    ) -> None:
        prim = omni.usd.get_context().get_stage().GetPrimAtPath(path)
        if not prim or prim.GetTypeName() != "OmniLidar":
            raise ValueError(f"Prim at {path} is not an 'OmniLidar' prim")
        if "OmniSensorGenericLidarCoreAPI" not in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
            raise ValueError(f"Prim at {path} does not have the schema")
        prim.CreateAttribute(
            "_replicator:rendervar:GenericModelOutput:channels",
            Sdf.ValueTypeNames.StringArray,
        ).Set(["NONE"])
        self._texture: Any = rep.create.render_product(path, (300, 300))
        self._annotators: dict[str, Any] = {}
        for name in [annotators] if isinstance(annotators, str) else annotators or []:
            assert name in ("generic-model-output", "stable-id-map")
            self._annotators[name] = rep.AnnotatorRegistry.get_annotator("GenericModelOutput")
            self._annotators[name].attach([self._texture.path])

    def __del__(self) -> None:
        if getattr(self, "_texture", None) is not None:
            for annotator in self._annotators.values():
                annotator.detach([self._texture.path])
            self._texture.destroy()

    def get_data(self, annotator: str) -> tuple[wp.array | None, dict[str, Any]]:
        if annotator not in self._annotators:
            raise ValueError(f"The annotator '{annotator}' was not configured")
        data = self._annotators[annotator].get_data()
        if data is None or not len(data):
            return None, {}
        return wp.array(data, dtype=wp.uint8, device="cpu"), {}

    def detach_annotators(self, annotators: str | list[str]) -> None:
        for name in [annotators] if isinstance(annotators, str) else annotators:
            self._annotators.pop(name).detach([self._texture.path])

"""Render products and the annotators that read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import carb
from omni.physx import world

from tests.kit.lidar import LidarOutput

products: dict[str, HydraTexture] = {}
attached: list[Annotator | Writer] = []


class HydraTexture:
    def __init__(self, camera: str, path: str) -> None:
        self.path = path
        self.output = LidarOutput(world, camera)
        world.rendered.append(self.output.render)
        products[path] = self

    def destroy(self) -> None:
        world.rendered.remove(self.output.render)
        del products[self.path]


class create:
    @staticmethod
    def render_product(
        camera: str,
        resolution: tuple[int, int],
        force_new: bool = False,
        name: str | None = None,
        render_vars: list[str] | None = None,
    ) -> HydraTexture:
        return HydraTexture(camera, f"/Render/{name or 'Replicator'}_{len(products)}")


class Annotator:
    def __init__(self, name: str) -> None:
        self.name = name
        self._products: list[str] = []

    def attach(self, render_products: list[str]) -> None:
        self._products = list(render_products)
        attached.append(self)

    def detach(self, render_products: list[str] | None = None) -> None:
        self._products = []
        attached.remove(self)

    def get_data(self, device: str | None = None) -> Any:
        (path,) = self._products
        return products[path].output.as_numpy()


class AnnotatorRegistry:
    @staticmethod
    def get_annotator(
        name: str, init_params: dict[str, Any] | None = None, device: str | None = None
    ) -> Annotator:
        assert name == "GenericModelOutput"
        return Annotator(name)


class Writer(ABC):
    """Is given each frame of what it is attached to while it plays; it needs not be registered."""

    version = "0.0.0"
    data_structure = "legacy"

    def __new__(cls, *args: Any, **kwargs: Any) -> Writer:
        instance = super().__new__(cls)
        instance.annotators = []
        return instance

    @abstractmethod
    def write(self, data: dict[str, Any]) -> None: ...

    def write_metadata(self) -> None:
        carb.log_warn("Unable to write metadata, no backend specified.")

    def attach(
        self, render_products: list[str], trigger: str = "omni.replicator.core.OgnOnFrame"
    ) -> None:
        assert self.data_structure == "renderProduct"
        (annotator,) = self.annotators
        (self._path,) = render_products
        annotator.attach(render_products)
        attached.remove(annotator)
        attached.append(self)
        world.rendered.append(self._write)

    def detach(self) -> None:
        world.rendered.remove(self._write)
        attached.remove(self)

    def _write(self) -> None:
        if not world.valid:
            return
        if self.version == "0.0.0":
            carb.log_warn("Writer version not specified in the writer metadata")
        self.write_metadata()
        data = products[self._path].output.as_numpy()
        name = self._path.rsplit("/", 1)[-1]
        # Some versions give the array, some a dictionary that holds it.
        frames = {"GenericModelOutput": data if len(data) % 2 else {"data": data}}
        self.write({"renderProducts": {name: frames}, "reference_time": (0, 1)})

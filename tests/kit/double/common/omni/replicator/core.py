"""Render products and the annotators that read them."""

from __future__ import annotations

from typing import Any

from omni.physx import world

from tests.kit.lidar import LidarOutput

products: dict[str, HydraTexture] = {}
attached: list[Annotator] = []


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

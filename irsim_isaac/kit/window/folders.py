"""Where the window writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["output_folder", "stage_name"]


def output_folder(text: str) -> Path:
    """Return the folder that a text stands for, its tokens such as ``${omni_documents}`` replaced.

    Args:
        text: What the field holds.
    """
    import carb.tokens

    return Path(os.path.expanduser(carb.tokens.get_tokens_interface().resolve(text)))


def stage_name(stage: Any) -> str:
    """Return what the folder of a stage is called."""
    layer = stage.GetRootLayer()
    return Path(layer.realPath or layer.identifier).stem or "stage"

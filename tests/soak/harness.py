"""The registry of the long tests, and running them so that a broken-off run goes on."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tests.soak

ROOT = Path(__file__).resolve().parents[2]
PROGRESS = ROOT / ".soak"
MEASURED = ROOT / "docs" / "measured"

Round = Callable[[int], dict[str, Any]]


@dataclass(frozen=True)
class Soak:
    """A long test: ``rounds`` calls of ``function``, each with its own seed."""

    name: str
    rounds: int
    function: Round


registry: dict[str, Soak] = {}


def soak(name: str, *, rounds: int) -> Callable[[Round], Round]:
    """Register a function of a seed that asserts and returns its figures."""

    def register(function: Round) -> Round:
        registry[name] = Soak(name, rounds, function)
        return function

    return register


def load() -> dict[str, Soak]:
    """Import every module beside this one and return the registry."""
    for module in pkgutil.iter_modules(tests.soak.__path__):
        if not module.name.startswith(("__", "test_")) and module.name != "harness":
            importlib.import_module(f"tests.soak.{module.name}")
    return registry


def run(test: Soak) -> dict[str, Any]:
    """Run every round that has not been run yet, and write the figures when all are done."""
    PROGRESS.mkdir(exist_ok=True)
    path = PROGRESS / f"{test.name}.jsonl"
    done = {}
    if path.exists():
        for line in path.read_text().splitlines():
            row = json.loads(line)
            done[row["seed"]] = row
    for seed in range(test.rounds):
        if seed in done:
            continue
        print(f"{test.name}: seed {seed} of {test.rounds}", flush=True)
        done[seed] = {"seed": seed, **test.function(seed)}
        with path.open("a") as file:
            file.write(json.dumps(done[seed]) + "\n")
    result = {"name": test.name, "rounds": [done[seed] for seed in range(test.rounds)]}
    MEASURED.mkdir(parents=True, exist_ok=True)
    (MEASURED / f"soak_{test.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    path.unlink()
    return result

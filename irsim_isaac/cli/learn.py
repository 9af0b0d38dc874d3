"""``irsim-isaac learn``: learn from a study where items belong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from irsim_isaac.interactive import Clusters, LearnedModels, ParsedCondition

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("learn")(learn)


def learn(
    study: Annotated[int, typer.Argument(help="The id of the study.")],
    store: Annotated[
        str,
        typer.Argument(help="Where it is: a file of SQLite, or a URL such as mariadb://..."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A .png picture or an .html page to write."),
    ] = None,
    clusters: Annotated[
        str, typer.Option(help="How many clusters a set has: cv, bic or a number.")
    ] = "cv",
    most: Annotated[int, typer.Option(help="How many models a set gives at most.")] = 1,
    theta_weight: Annotated[
        float, typer.Option(help="What a rotation counts beside a distance [m/rad].")
    ] = 1.0,
    least_share: Annotated[
        float, typer.Option(help="The share of placements below which a set is dropped.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="What the learning starts from.")] = 0,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Keep the models in the store.")
    ] = True,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what would be left out of the logs.")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print the models as JSON.")] = False,
) -> None:
    """Learn from what people logged in a study where items belong, and keep it in the store.

    With --no-keep the store is left as it is, and may be of an old installation.
    """
    from irsim_isaac.errors import InteractiveError
    from irsim_isaac.files import write_text, writing
    from irsim_isaac.interactive import Store, learn_models, parse_study
    from irsim_isaac.interactive.learned_picture import draw_tasks, learned_page

    if output is not None and output.suffix.lower() not in (".png", ".html"):
        raise typer.BadParameter(f"-o is '{output}', expected a file of .png or .html")
    if "://" not in store and not Path(store).is_file():
        # Opening it would make one.
        raise typer.BadParameter(f"there is no store '{store}'")
    counting = _counting(clusters)
    with Store(store, create=keep) as opened:
        tasks = []
        for parsed in parse_study(opened, study, least_share=least_share, strict=strict):
            learned = learn_models(
                parsed.training, clusters=counting, most=most, theta_weight=theta_weight, seed=seed
            )
            tasks.append((parsed, learned))
        if not any(learned.sets for _, learned in tasks):
            why = "; ".join(
                f"{left.where}: {left.reason}"
                for parsed, learned in tasks
                for left in (*parsed.skipped, *learned.skipped)[:3]
            )
            raise InteractiveError(f"study {study} has nothing to learn from{why and ': ' + why}")
        if keep:
            with opened.transaction():
                for parsed, learned in tasks:
                    if learned.sets:
                        opened.save_models(parsed.condition.id, learned.models)
    if output is not None and output.suffix.lower() == ".png":
        with writing(output) as temporary:
            draw_tasks(tasks).save(temporary, format="PNG")
    elif output is not None:
        write_text(output, learned_page(f"Study {study}: where items belong", tasks))
    if json_output:
        typer.echo(json.dumps([_summary(*task) for task in tasks], indent=2, allow_nan=False))
        return
    for task in tasks:
        _tell(*task)
    if keep:
        typer.echo("kept in the store")
    if output is not None:
        typer.echo(f"{output}: written")


def _counting(text: str) -> Clusters:
    if text == "cv":
        return "cv"
    if text == "bic":
        return "bic"
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(
            f"--clusters is '{text}', cv, bic or a number was expected"
        ) from None


def _summary(parsed: ParsedCondition, learned: LearnedModels) -> dict[str, Any]:
    return {
        "condition_id": parsed.condition.id,
        "name": parsed.condition.name,
        "sessions": parsed.sessions,
        "completed": parsed.completed,
        "placements": parsed.placements,
        "models": learned.models.to_dict()["models"],
        "skipped": [
            {"where": left.where, "reason": left.reason}
            for left in (*parsed.skipped, *learned.skipped)
        ],
    }


def _tell(parsed: ParsedCondition, learned: LearnedModels) -> None:
    typer.echo(
        f"{parsed.condition.name} (condition {parsed.condition.id}): {parsed.placements} "
        f"placements in {parsed.sessions} sessions, {parsed.completed} of them completed"
    )
    order = list(dict.fromkeys(one.data.item.name for one in learned.sets))
    models = sorted(
        learned.models.models,
        key=lambda model: (order.index(model.placement.item.name), model.decision_value),
    )
    for model in models:
        placement = model.placement
        where = f" on {placement.surface.name}" if placement.surface.name else ""
        typer.echo(
            f"  {model.decision_value:8.4f}  {placement.item.name} by "
            f"{placement.reference_frame_id}{where}: x {placement.position.x:.3f} ± "
            f"{model.sigma_x:.3f} m, y {placement.position.y:.3f} ± {model.sigma_y:.3f} m, "
            f"turned {placement.rotation:.3f} ± {model.sigma_theta:.3f}"
        )
    kinds = Counter(left.where.split()[0] for left in (*parsed.skipped, *learned.skipped))
    if kinds:
        told = ", ".join(f"{count} of kind {kind}" for kind, count in kinds.items())
        typer.echo(f"  left out: {told} (--json tells why)")

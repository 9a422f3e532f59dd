"""`magister models`: the configured models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from magister.cli._printing import Format, FormatOption, ParamsOption, print_rows
from magister.cli._speakers import weights_files
from magister.errors import UserError

app = typer.Typer(no_args_is_help=True, help="The configured models.")


@app.command("check", epilog="Example: magister models check --only smol-plain")
def models_check(
    params: ParamsOption = Path("params.yaml"),
    only: Annotated[list[str] | None, typer.Option(help="Check this model alone; may be repeated.")] = None,
    form: FormatOption = Format.text,
) -> None:
    """Ask each configured model one tiny question. Exit code 1 if one does not answer."""
    from magister.config.params import load_params
    from magister.llm import check_models

    models = load_params(params).models
    unknown = sorted(set(only or []) - set(models))
    if unknown:
        raise UserError(f"{params}: no model {', '.join(unknown)}; known: {', '.join(sorted(models))}")
    chosen = {name: model for name, model in models.items() if not only or name in only}
    weights = weights_files(chosen)
    results = check_models(chosen, weights=weights)
    print_rows([asdict(result) for result in results], form)
    if not all(result.ok for result in results):
        raise typer.Exit(1)

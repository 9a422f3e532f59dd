"""The `magister` command: a module per group of commands."""

from __future__ import annotations

import errno
import os
import sys
from typing import NoReturn

import typer

from magister.cli import arena, board, items, models, plan, rubrics
from magister.cli.audit import AUDIT_EXAMPLE, CITE_EXAMPLE, audit, cite
from magister.cli.diagnose import EXAMPLE as DIAGNOSE_EXAMPLE
from magister.cli.diagnose import diagnose
from magister.cli.diff import EXAMPLE as DIFF_EXAMPLE
from magister.cli.diff import diff
from magister.cli.export import EXAMPLE as EXPORT_EXAMPLE
from magister.cli.export import export
from magister.cli.rate import EXAMPLE as RATE_EXAMPLE
from magister.cli.rate import rate
from magister.cli.record import record
from magister.cli.replay import EXAMPLE as REPLAY_EXAMPLE
from magister.cli.replay import replay
from magister.cli.restore import restore
from magister.cli.score import EXAMPLE, score_teaching
from magister.cli.select import EXAMPLE as SELECT_EXAMPLE
from magister.cli.select import select_command
from magister.cli.status import EXAMPLE as STATUS_EXAMPLE
from magister.cli.status import status_command
from magister.cli.verify import EXAMPLE as VERIFY_EXAMPLE
from magister.cli.verify import verify_command
from magister.display import visible
from magister.errors import UserError

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Rates language models and keeps every number traceable to the transcripts behind it.",
)
app.add_typer(models.app, name="models")
app.add_typer(items.app, name="items")
app.add_typer(board.app, name="board")
app.add_typer(plan.app, name="plan")
app.add_typer(arena.app, name="arena")
app.add_typer(rubrics.app, name="rubrics")
app.command(epilog=DIFF_EXAMPLE)(diff)
app.command(epilog="Example: magister record")(record)
app.command(epilog=REPLAY_EXAMPLE)(replay)
app.command(epilog="Example: magister restore --remote archive")(restore)
app.command("audit", epilog=AUDIT_EXAMPLE)(audit)
app.command("cite", epilog=CITE_EXAMPLE)(cite)
app.command("diagnose", epilog=DIAGNOSE_EXAMPLE)(diagnose)
app.command("export", epilog=EXPORT_EXAMPLE)(export)
app.command("rate", epilog=RATE_EXAMPLE)(rate)
app.command("score-teaching", epilog=EXAMPLE)(score_teaching)
app.command("select", epilog=SELECT_EXAMPLE)(select_command)
app.command("status", epilog=STATUS_EXAMPLE)(status_command)
app.command("verify", epilog=VERIFY_EXAMPLE)(verify_command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command; a mistake of the user's is one message and an exit code, never a traceback.

    Args:
        arguments: those of the process by default.
    """
    try:
        try:
            app(arguments)
        finally:
            sys.stdout.flush()
    except UserError as error:
        print(visible(f"magister: {error}"), file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        if error.errno == errno.EPIPE:
            # The reader of the pipe has gone (`magister ... | head`): what is left goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        if error.filename is None:
            raise
        print(visible(f"magister: {error.filename}: {error.strerror}"), file=sys.stderr)
        sys.exit(UserError.exit_code)
    sys.exit(0)

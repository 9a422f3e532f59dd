"""Errors that speak to users: printed as one message, without a traceback."""


class UserError(Exception):
    """Bad input or usage (exit code 2).

    The message says what was seen, where (file, row, key), what was expected and what to do.
    """

    exit_code = 2


class CheckFailed(UserError):
    """A check ran and did not pass (exit code 1)."""

    exit_code = 1

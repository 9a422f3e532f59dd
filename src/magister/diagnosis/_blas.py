"""Products of matrices whose bytes do not depend on how many cores there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, a BLAS works in one thread: it adds in one order on any number of cores."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield

"""What the Snakefile relies on in Snakemake's scheduler."""

from __future__ import annotations

import inspect

from snakemake.scheduling.job_scheduler import JobScheduler


def test_the_limit_of_jobs_per_second_can_be_lifted_from_a_scheduler() -> None:
    assert "self.job_rate_limiter = (" in inspect.getsource(JobScheduler.__init__)
    assert "if self.job_rate_limiter is None:" in inspect.getsource(JobScheduler.job_selector)
    assert "if self.job_rate_limiter is not None:" in inspect.getsource(JobScheduler.schedule)

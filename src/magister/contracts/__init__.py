"""What every table promises, and the gates that check it.

The gates are in `magister.contracts.gate` and the suites beside it. They are not imported here: every step
reads the schemas, and none but a gate should run again because a gate has changed.
"""

from magister.contracts.schemas import CONTRACTS, Contract

__all__ = ["CONTRACTS", "Contract"]

"""Plots of the boards: pure functions from tables to SVG text.

The same table gives the same bytes, in any process. No plot tells things apart by colour alone, every number stands
with its interval, its n and its policy, and what is unknown is a gap that the caption explains.
"""

from magister.plots._asked import changes, contamination
from magister.plots._curves import by_round, convergence, teaching_curve
from magister.plots._diagnosis import item_plot, k_curve
from magister.plots._forest import ca_forest, rank_intervals
from magister.plots._left_out import leave_one_out
from magister.plots._mastery import mastery_map, q_map
from magister.plots._scatter import meta_scatter
from magister.plots._selection import selection_curves

__all__ = [
    "by_round",
    "ca_forest",
    "changes",
    "contamination",
    "convergence",
    "item_plot",
    "k_curve",
    "leave_one_out",
    "mastery_map",
    "meta_scatter",
    "q_map",
    "rank_intervals",
    "selection_curves",
    "teaching_curve",
]

"""Statistics of all boards: pure functions over arrays, with no knowledge of files.

Every result is an `Estimate`, `Estimates` (its array form) or a record like them: a number that cannot be had is
absent and says why in `status` and `reason`; it is never 0 and never a bare NaN.
"""

from magister.stats._agreement import (
    MAX_CATEGORIES,
    UnitBootstrap,
    intraclass_correlation,
    krippendorff_alpha,
    weighted_kappa,
)
from magister.stats._bootstrap import (
    BootstrapWeights,
    bca_intervals,
    bootstrap_weights,
    percentile_intervals,
    ratio_intervals,
    statistic_intervals,
)
from magister.stats._cluster import cluster_mean
from magister.stats._correlation import (
    MIN_MODELS,
    DependentCorrelations,
    ModelBootstrap,
    compare_correlations,
    correlation,
    partial_correlation,
    williams,
)
from magister.stats._crossed import (
    CrossedSample,
    crossed_sample,
    pigeonhole_replicates,
    student_mean,
    student_ratio,
    student_weights,
)
from magister.stats._estimate import REASONS, STATUSES, Estimate, Estimates
from magister.stats._expanded import (
    FEW_CLUSTERS,
    expanded_intervals,
    expanded_level,
    student_half_width,
    tails_are_empty,
)
from magister.stats._jackknife import Jackknife, cluster_jackknife
from magister.stats._orders import Orders, model_orders, order_agreement, swapped_pairs
from magister.stats._paired import EXACT_CLUSTERS, PairTests, holm, mcnemar, paired_differences, sign_flip
from magister.stats._power import (
    MAX_ITEMS,
    Detectable,
    detectable_difference,
    items_needed,
)
from magister.stats._proportion import clopper_pearson, wilson
from magister.stats._rank import Ranks, rank_intervals, shared_ranks, significance_groups
from magister.stats._two_way import two_way_intervals

__all__ = [
    "EXACT_CLUSTERS",
    "FEW_CLUSTERS",
    "MAX_CATEGORIES",
    "MAX_ITEMS",
    "MIN_MODELS",
    "REASONS",
    "STATUSES",
    "BootstrapWeights",
    "CrossedSample",
    "DependentCorrelations",
    "Detectable",
    "Estimate",
    "Estimates",
    "Jackknife",
    "ModelBootstrap",
    "Orders",
    "PairTests",
    "Ranks",
    "UnitBootstrap",
    "bca_intervals",
    "bootstrap_weights",
    "clopper_pearson",
    "cluster_jackknife",
    "cluster_mean",
    "compare_correlations",
    "correlation",
    "crossed_sample",
    "detectable_difference",
    "expanded_intervals",
    "expanded_level",
    "holm",
    "intraclass_correlation",
    "items_needed",
    "krippendorff_alpha",
    "mcnemar",
    "model_orders",
    "order_agreement",
    "paired_differences",
    "partial_correlation",
    "percentile_intervals",
    "pigeonhole_replicates",
    "rank_intervals",
    "ratio_intervals",
    "shared_ranks",
    "sign_flip",
    "significance_groups",
    "statistic_intervals",
    "student_half_width",
    "student_mean",
    "student_ratio",
    "student_weights",
    "swapped_pairs",
    "tails_are_empty",
    "two_way_intervals",
    "weighted_kappa",
    "williams",
    "wilson",
]

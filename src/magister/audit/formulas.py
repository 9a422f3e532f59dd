"""What each number of a board means: in words, as a formula, and where that is written down."""

from __future__ import annotations

from magister.audit.card import Formula

_TEACH = "Teach2Eval (ICLR 2026)"
_HERE = "defined in magister.teaching.metrics"
_MEAN = "mean over students m"

# Words, symbols, source. c_{m,n,t}: student m is right on item n after round t; p_{m,t}: its share right.
_TEACHING: dict[str, tuple[str, str, str]] = {
    "CA": (
        "How much the students' accuracy changes from the blind answer to the round.",
        f"CA = {_MEAN} of (p_{{m,t}} - p_{{m,0}})",
        f"{_TEACH}, CA",
    ),
    "p": (
        "The students' accuracy after the round; round 0 is the blind answer.",
        f"p_t = {_MEAN} of p_{{m,t}}",
        _HERE,
    ),
    "AA": (
        "The teacher's own accuracy on the items, asked once without a student.",
        "AA = right answers / items",
        f"{_TEACH}, AA",
    ),
    "JA": (
        "How often the teacher's verdict of round 1 says truly whether the blind answer is right.",
        "JA = #(verdict_{m,n,1} = c_{m,n,0}) / #(m,n), pooled",
        f"{_TEACH}, JA",
    ),
    "JA_none": (
        "How often the teacher's first reply has no verdict.",
        "JA_none = #(no verdict at round 1) / #(m,n), pooled",
        _HERE,
    ),
    "JA_balanced": (
        "Verdicts that are true, with right and wrong blind answers weighing the same.",
        "(share judged truly of those right at 0 + share of those wrong at 0) / 2",
        _HERE,
    ),
    "JA_mcc": (
        "Correlation of verdict and truth; no verdict counts as the wrong one.",
        "Matthews correlation of verdict_{m,n,1} and c_{m,n,0}",
        f"Matthews (1975), BBA 405, 442-451; {_HERE}",
    ),
    "JA_always_wrong": (
        'The JA of a teacher that always says "wrong": what JA must beat.',
        "1 - p_0 over the cells of JA",
        _HERE,
    ),
    "GA": (
        "Of the answers that were wrong before teaching, the share that round 1 makes right.",
        "GA = #(wrong at 0, right at 1) / #(wrong at 0), pooled",
        f"{_TEACH}, GA",
    ),
    "regression": (
        "Of the answers that were right before teaching, the share that round 1 makes wrong.",
        "rho = #(right at 0, wrong at 1) / #(right at 0), pooled",
        _HERE,
    ),
    "Fix": ("Answers that the round makes right.", "#(wrong at t-1, right at t), pooled", _HERE),
    "Reg": ("Answers that the round makes wrong.", "#(right at t-1, wrong at t), pooled", _HERE),
    "RA": (
        "How the number of right answers grows after round 1: whether what was learnt stays.",
        f"RA = {_MEAN} of prod_{{t=2..T}} (1 + (Fix_t - Reg_t) / C_{{m,t-1}}) - 1, C the number right",
        f"{_TEACH}, RA",
    ),
    "normalised_gain": (
        "CA as a share of what could be gained.",
        "(p_T - p_0) / (1 - p_0), p_t the mean over students",
        "Hake (1998), Am. J. Phys. 66, 64-74",
    ),
    "corrected_gain": (
        "CA in units of what lies above guessing.",
        f"{_MEAN} of (p_{{m,T}} - p_{{m,0}}) / (1 - c_m), c_m the mean of 1 / (number of options)",
        _HERE,
    ),
    "CA_masked": (
        "CA when a student keeps its answer from the first guide on that leaks an option or the answer.",
        f"{_MEAN} of (p_{{m,T}} with leaks masked - p_{{m,0}})",
        _HERE,
    ),
    "net_CA": (
        "CA beyond that of a fixed neutral sentence (control arm sham).",
        "net CA = CA - CA(sham)",
        _HERE,
    ),
    "headroom": (
        "net CA as a share of what telling the answer reaches (control arm oracle_tell).",
        "(CA - CA(sham)) / (CA(oracle_tell) - CA(sham))",
        _HERE,
    ),
    "net_verdict": (
        "What the guidance adds to the bare verdicts of the same teacher.",
        "CA - CA(verdict_only, same teacher)",
        _HERE,
    ),
    **{
        f"CA_leak_{kind}": (
            f"Change of the share right over the dialogues whose {what}.",
            "p_T - p_0 over these dialogues, pooled",
            _HERE,
        )
        for kind, what in (
            ("none", "guides leaked nothing"),
            ("option", "worst leak was an option that is wrong"),
            ("gold", "guides gave the answer away"),
        )
    },
}
_POLICY = {
    "wrong": "a reply without an answer counts as wrong, no verdict as an untrue one",
    "drop": "a dialogue with a reply without an answer is left out, no verdict leaves JA",
}


def teaching_formula(metric: str, policy: str, kind: str) -> Formula:
    """What a metric of the teaching board means.

    Args:
        metric: its name in the metrics table.
        policy: "wrong" or "drop".
        kind: slice kind; "macro" is a mean over datasets.
    """
    words, symbols, source = _TEACHING[metric]
    if kind == "macro":
        words += " Here: the mean over the datasets that have a value."
    unit = "item" if metric == "AA" else "dialogue (student x item)"
    return Formula(
        words,
        symbols,
        source,
        f"policy {policy}: {_POLICY[policy]}. A {unit} with a failed call is left out whole: a failure is no answer.",
    )


ARENA_SYSTEMS = ("bradley_terry", "elo")


def arena_formula(system: str, elo_k: float, prior_sd: float) -> Formula:
    """What a rating of the arena means.

    Args:
        system: "bradley_terry" or "elo".
        elo_k: points at stake in a vote.
        prior_sd: of the ridge of Bradley-Terry, in points.
    """
    counted = (
        "every vote counts once, a tie as half a win for each; a vote that could not be read is listed in "
        "votes_rejected.parquet and counts nowhere"
    )
    if system == "elo":
        return Formula(
            "Elo rating in the limit of all orders of the votes; the mean of a connected league is 1000.",
            f"dr_i/dt = K sum_j (s_ij - n_ij E_ij(r)), r(0) = 1000, t from 0 to 1, K = {elo_k:g}, "
            "E_ij = 1 / (1 + 10^((r_j - r_i) / 400))",
            "Elo (1978), The Rating of Chessplayers; magister.arena.elo",
            counted,
        )
    return Formula(
        "Strength in pairwise votes; 400 points are odds of 10 to 1, the mean of a connected league is 1000.",
        "P(i beats j) = 1 / (1 + 10^((r_j - r_i) / 400)), greatest likelihood less a ridge "
        f"(normal prior, SD {prior_sd:g} points)",
        "Bradley and Terry (1952), Biometrika 39, 324-345; magister.arena.bradley_terry",
        counted,
    )


def mastery_formula(overall: bool) -> Formula:
    """What a mastery means."""
    words = "Posterior probability that the model has mastered the attribute, by the fitted DINA model."
    symbols = (
        "p_ik = P(alpha_ik = 1 | responses); P(right_ij) = 1 - s_j if model i masters all that item j needs, "
        "else g_j"
    )
    if overall:
        words = (
            "Mean over the study's attributes of the posterior probability of mastery, by which the board's page "
            "sorts models."
        )
        symbols = f"mean over k of p_ik; {symbols}"
    return Formula(
        words,
        symbols,
        "Junker and Sijtsma (2001), Applied Psychological Measurement 25; SAEM: Delyon, Lavielle and Moulines (1999), "
        "Annals of Statistics 27; magister.diagnosis.saem",
        "items and models that the screening left out are not in it; a failed call is missing, not wrong",
    )


def rubrics_formula(overall: bool, policy: str, low: int, high: int) -> Formula:
    """What a dimension of the rubrics' board means.

    Args:
        overall: all dimensions together.
        policy: what becomes of a dialogue with a metric that has no score.
        low: of the scale.
        high: of the scale.
    """
    inner = "sum_i w_i s_i" if overall else "sum_i w_i s_i / sum_i w_i over the dimension's metrics"
    counted = {
        "unknown": "a dialogue in which a judge's panel has no score on a metric is unknown and left out",
        "renormalise": "in a dialogue without a score on a metric the other metrics' weights are scaled up",
    }.get(policy, policy)
    return Formula(
        f"Mean over dialogues of the {'rubric score' if overall else 'score on the dimension'} ({low} to {high}); s_i "
        "is the median over judges of their medians over repeats.",
        f"mean over dialogues of {inner}",
        "Elmes+ (arXiv 2606.06546), Score(tau, R); magister.rubrics.profiles",
        f"policy {policy}: {counted}. A judge whose reply cannot be read abstains.",
    )

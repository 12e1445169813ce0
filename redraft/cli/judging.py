"""Options of judging and refining that several commands share."""

from __future__ import annotations

from redraft.cli.options import Count, embeddings, grouped, of_field, option
from redraft.settings import MOST_QUESTIONS, Judging, Refinement


def _metrics() -> str:
    from redraft.evaluators.catalog import names

    return ", ".join(names())


judge_base_url = of_field(Judging, "base_url")
panel_options = grouped(
    of_field(Judging, "judges", help="Model that judges, in place of --model; several decide by majority."),
    judge_base_url,
)
judge_options = grouped(of_field(Judging, "judges"), judge_base_url)
required_judges = of_field(
    Judging,
    "judges",
    required=True,
    help="Model that judges: extractive, openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in redraft.toml.",
)
questions = grouped(
    of_field(Judging, "questions", type=Count(MOST_QUESTIONS)),
    of_field(Judging, "stretch_tokens"),
)
validator = of_field(Judging, "validator")
keyfact_options = grouped(of_field(Judging, "perspective"), validator)
repeat = of_field(Judging, "repeat")
verdict_options = grouped(
    repeat,
    *(of_field(Judging, name) for name in ("claims", "batch", "top_k", "similarity", "evidence", "second_look")),
    of_field(Judging, "threshold"),
    embeddings,
    of_field(Judging, "pack"),
    of_field(Judging, "keyfacts"),
)
judging_options = grouped(judge_options, questions, keyfact_options, verdict_options)
metric_option = of_field(Judging, "metrics", listing=_metrics)
reference = option(
    "--reference",
    section="judging",
    metavar="FILE",
    help="Another summary of SOURCE; --metric position shows its figures too.",
)

findings = option(
    "--findings",
    section="refining",
    metavar="FILE",
    help="What to mend first, whatever the goals: findings as `lineage RUN --lost --json` or `evaluate --json` prints"
    " them; - reads stdin.",
)
decider = of_field(Refinement, "decider")
rounds = of_field(Refinement, "rounds")
goal_options = grouped(
    of_field(Refinement, "goals"),
    rounds,
    of_field(Refinement, "policy"),
    decider,
    *(of_field(Refinement, name) for name in ("tolerance", "judged_share", "allow_self_check", "final_comparison")),
)
refining_options = grouped(goal_options, of_field(Refinement, "review"))

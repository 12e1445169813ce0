"""Options of judging and refining that several commands share."""

from __future__ import annotations

from redraft.cli.options import Count, embeddings, grouped, of_field, option
from redraft.settings import MOST_QUESTIONS, JudgeConfig, RefineConfig


def _metrics() -> str:
    from redraft.evaluators.catalog import names

    return ", ".join(names())


judge_base_url = of_field(JudgeConfig, "base_url")
panel_options = grouped(
    of_field(JudgeConfig, "judges", help="Model that judges, in place of --model; several decide by majority."),
    judge_base_url,
)
judge_options = grouped(of_field(JudgeConfig, "judges"), judge_base_url)
required_judges = of_field(
    JudgeConfig,
    "judges",
    required=True,
    help="Model that judges: extractive, openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in redraft.toml.",
)
questions = grouped(
    of_field(JudgeConfig, "questions", type=Count(MOST_QUESTIONS)),
    of_field(JudgeConfig, "stretch_tokens"),
)
validator = of_field(JudgeConfig, "validator")
keyfact_options = grouped(of_field(JudgeConfig, "perspective"), validator)
repeat = of_field(JudgeConfig, "repeat")
verdict_options = grouped(
    repeat,
    *(of_field(JudgeConfig, name) for name in ("claims", "batch", "top_k", "similarity", "evidence", "second_look")),
    of_field(JudgeConfig, "threshold"),
    embeddings,
    of_field(JudgeConfig, "pack"),
    of_field(JudgeConfig, "keyfacts"),
)
judging_options = grouped(judge_options, questions, keyfact_options, verdict_options)
metric_option = of_field(JudgeConfig, "metrics", listing=_metrics)
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
decider = of_field(RefineConfig, "decider")
rounds = of_field(RefineConfig, "rounds")
goal_options = grouped(
    of_field(RefineConfig, "goals"),
    rounds,
    of_field(RefineConfig, "policy"),
    decider,
    *(of_field(RefineConfig, name) for name in ("tolerance", "judged_share", "allow_self_check", "final_comparison")),
)
refining_options = grouped(goal_options, of_field(RefineConfig, "review"))

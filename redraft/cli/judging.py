"""Options of judging and refining that several commands share."""

from __future__ import annotations

import click

from redraft.cli.options import embeddings, grouped, option
from redraft.cli.sections import LISTED
from redraft.cli.sizes import Count


def _metrics() -> str:
    from redraft.evaluators.catalog import names

    return ", ".join(names())


judge_base_url = option(
    "--judge-base-url",
    section="judging",
    metavar="URL",
    help="Where the judges are served, if elsewhere.",
)

_PANEL = "Model that judges, in place of --model; several decide by majority."
panel_options = grouped(
    option("--judge", section="judging", multiple=True, metavar="NAME", help=_PANEL), judge_base_url
)
judge_options = grouped(
    option(
        "--judge",
        section="judging",
        multiple=True,
        metavar="NAME",
        help=f"{_PANEL} The first asks the questions and finds the key facts.",
    ),
    judge_base_url,
)

required_judges = option(
    "--judge",
    section="judging",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Model that judges: extractive, openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in redraft.toml.",
)

questions = grouped(
    option(
        "--questions",
        section="judging",
        type=Count(1000),
        metavar="N|A-B",
        help="Most questions about the document: their number grows with the root of its length, up to N. Or from A to"
        " B about each stretch of it, as in 9-15.  [default: 40]",
    ),
    option(
        "--stretch-tokens",
        section="judging",
        type=click.IntRange(min=256),
        metavar="N",
        help="Most tokens of the document that questions are asked about at once.  [default: 6144]",
    ),
)

validator = option(
    "--validator",
    section="judging",
    metavar="NAME",
    help="Model that validates key facts, in place of the first judge, who finds them.",
)
keyfact_options = grouped(
    option(
        "--perspective",
        section="judging",
        type=click.Choice(["both", "analytical", "narrative"]),
        help="Key facts of what the document means and argues (analytical), of what happens in it (narrative), or both."
        "  [default: both]",
    ),
    validator,
)

repeat = option(
    "--repeat",
    section="judging",
    type=click.IntRange(1, 50),
    metavar="K",
    help="Let each judge judge K times.  [default: 1]",
)

verdict_options = grouped(
    repeat,
    option(
        "--claims",
        section="judging",
        type=click.IntRange(1, 10_000),
        metavar="N",
        help="Most questions about one summary.  [default: 120]",
    ),
    option(
        "--batch",
        section="judging",
        type=click.IntRange(1, 100),
        metavar="N",
        help="Sentences of the summary judged at once for booookscore; 1 is the paper's way.  [default: 10]",
    ),
    option(
        "--top-k",
        section="judging",
        type=click.IntRange(min=1),
        metavar="K",
        help="Judge by the K most important questions only.",
    ),
    option(
        "--similarity",
        section="judging",
        type=click.Choice(["exact", "rouge1", "cosine", "judge"]),
        help="How answers are compared: by the judge, or by a measure, as LongSumEval does; cosine needs --embeddings."
        "  [default: judge]",
    ),
    option(
        "--evidence",
        section="judging",
        type=click.Choice(["auto", "whole", "retrieved"]),
        help="What is read before something is said to be missing from the document: all of it (auto; whole: to confirm"
        " a contradiction as well), or only passages that a search finds, whose silence leaves a claim undecided."
        "  [default: auto]",
    ),
    option(
        "--second-look/--no-second-look",
        section="judging",
        default=None,
        help="Before answers are said to differ, have the judge compare them in words, with more of the document read."
        "  [default: second look]",
    ),
    option(
        "--threshold",
        section="judging",
        type=click.FloatRange(0, 1, max_open=True),
        metavar="X",
        help="Answers no more alike than this differ.  [default: 0.6]",
    ),
    embeddings,
    option(
        "--pack",
        section="judging",
        metavar="ID",
        help="Judge by these questions, not by the document's own: see `redraft pack list`.",
    ),
    option("--keyfacts", section="judging", metavar="ID", help="Judge by these key facts, not by the document's own."),
)

reference = option(
    "--reference",
    section="judging",
    metavar="FILE",
    help="Another summary of SOURCE; --metric position shows its figures too.",
)

judging_options = grouped(judge_options, questions, keyfact_options, verdict_options)

metric_option = option(
    "--metric",
    section="judging",
    multiple=True,
    metavar="NAME",
    listing=_metrics,
    help=f"{LISTED}; may be repeated. booookscore is about coherence, spread and position about where in the document"
    " the summary comes from, and statistics are always there. The key facts for keyfact_recall cost about ten"
    " readings of the document, once.  [default: coverage and consistency]",
)

decider = option(
    "--decider",
    section="refining",
    metavar="NAME",
    help="Model that decides with --policy agent, in place of --model.",
)

findings = option(
    "--findings",
    section="refining",
    metavar="FILE",
    help="What to mend first, whatever the goals: findings as `lineage RUN --lost --json` or `evaluate --json` prints"
    " them; - reads stdin.",
)

rounds = option(
    "--rounds", section="refining", type=click.IntRange(1, 100), metavar="N", help="Most revisions.  [default: 4]"
)

goal_options = grouped(
    option(
        "--goal",
        "-g",
        section="refining",
        multiple=True,
        metavar="METRIC=VALUE",
        help="Least score that satisfies, such as coverage=0.8; may be repeated.",
    ),
    rounds,
    option(
        "--policy",
        section="refining",
        type=click.Choice(["consistency-first", "paper", "weakest-first", "all", "agent"]),
        help="What is mended first; with agent a model decides.  [default: consistency-first]",
    ),
    decider,
    option(
        "--tolerance",
        section="refining",
        type=click.FloatRange(0, 1),
        metavar="X",
        help="How far another goal's metric may fall in a revision that is taken.  [default: 0.02]",
    ),
    option(
        "--judged-share",
        section="refining",
        type=click.FloatRange(0.5, 1),
        metavar="X",
        help="On which share of a metric's items there must be a verdict for its goal to be met.  [default: 0.8]",
    ),
    option(
        "--allow-self-check",
        section="refining",
        is_flag=True,
        default=None,
        help="Refine for goals even where the built-in model writes and judges itself.",
    ),
    option(
        "--final-comparison/--no-final-comparison",
        section="refining",
        default=None,
        help="In the end, let the language models that judge compare the first draft with the best one, and return the"
        " one that they prefer.  [default: they do]",
    ),
)

refining_options = grouped(
    goal_options,
    option(
        "--review/--no-review",
        section="refining",
        default=None,
        help="Before each revision, show what it is to mend, and let you drop findings, add some, or edit the draft.",
    ),
)

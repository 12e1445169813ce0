"""The public names, which `lazy.attach` loads on first use, for type checkers and at run time."""

from redraft.agents.evidence import EvidenceReader as EvidenceReader
from redraft.agents.judge import Judge as Judge
from redraft.evaluators.base import Case as Case
from redraft.evaluators.base import Evaluator as Evaluator
from redraft.evaluators.base import Metric as Metric
from redraft.evaluators.rubric import Rubric as Rubric
from redraft.prompts.qa import Statement as Statement

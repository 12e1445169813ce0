"""The records that results are made of, and functions that read them."""

from redraft.batches.sources import BatchItem as BatchItem
from redraft.domain import Gap as Gap
from redraft.domain import KeyFact as KeyFact
from redraft.domain import KeyFacts as KeyFacts
from redraft.domain import Pack as Pack
from redraft.domain import Piece as Piece
from redraft.domain import Round as Round
from redraft.domain import Totals as Totals
from redraft.domain import Tree as Tree
from redraft.report.history.citations import Citation as Citation
from redraft.report.history.citations import cited as cited
from redraft.report.history.citations import read_answer as read_answer
from redraft.report.history.results import ChapterResult as ChapterResult
from redraft.report.history.results import built as built
from redraft.report.history.results import built_keyfacts as built_keyfacts
from redraft.report.history.summaries import RunSummary as RunSummary
from redraft.report.history.summaries import compared as compared
from redraft.report.history.trace import DraftDiff as DraftDiff
from redraft.report.history.trace import RoundTrace as RoundTrace
from redraft.report.history.trace import difference as difference
from redraft.runs.dry_run import Stage as Stage
from redraft.store.runs import DamagedRun as DamagedRun
from redraft.store.runs import Run as Run

"""The public names, which `lazy.attach` loads on first use, for type checkers and at run time."""

from redraft.agents.writer import Writer as Writer
from redraft.domain import Completion as Completion
from redraft.graphs.assembly import draft as draft
from redraft.graphs.assembly import judge as judge
from redraft.graphs.assembly import refine as refine
from redraft.graphs.assembly import summarizer as summarizer
from redraft.graphs.job import Job as Job
from redraft.graphs.plan import Plan as Plan
from redraft.graphs.plan import Planner as Planner
from redraft.graphs.state import DraftOutput as DraftOutput
from redraft.graphs.state import DraftState as DraftState
from redraft.graphs.state import GraphContext as GraphContext
from redraft.graphs.state import GraphInput as GraphInput
from redraft.graphs.state import GraphOutput as GraphOutput
from redraft.graphs.state import GraphResult as GraphResult
from redraft.graphs.state import MetricVerdict as MetricVerdict
from redraft.graphs.state import Options as Options
from redraft.graphs.state import SessionProtocol as SessionProtocol
from redraft.graphs.state import Strategy as Strategy
from redraft.graphs.state import Task as Task
from redraft.graphs.state import Update as Update
from redraft.graphs.state import node as node

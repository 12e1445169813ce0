"""Prompts: what one is, those of redraft, and what prompts of your own are made of."""

from redraft.llm.base import Sampling as Sampling
from redraft.prompts.book import PROMPTS as PROMPTS
from redraft.prompts.contract import Fence as Fence
from redraft.prompts.contract import Prompt as Prompt
from redraft.prompts.contract import PromptInput as PromptInput
from redraft.prompts.contract import ReplyModel as ReplyModel
from redraft.prompts.tags import ItemRef as ItemRef
from redraft.prompts.tags import TaggedItem as TaggedItem

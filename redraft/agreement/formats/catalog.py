"""The formats of annotations that can be read, by name."""

from __future__ import annotations

from collections.abc import Mapping

from redraft.agreement.formats.booookscore import BOOOOKSCORE
from redraft.agreement.formats.fables import FABLES
from redraft.agreement.formats.format import Format
from redraft.agreement.formats.frank import FRANK
from redraft.agreement.formats.generic import GENERIC
from redraft.agreement.formats.qags import QAGS
from redraft.agreement.formats.rank19 import RANK19
from redraft.agreement.formats.realsumm import REALSUMM
from redraft.agreement.formats.summedits import SUMMEDITS
from redraft.agreement.formats.summeval import SUMMEVAL
from redraft.agreement.formats.unisumeval import UNISUMEVAL

FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        QAGS,
        SUMMEVAL,
        REALSUMM,
        SUMMEDITS,
        RANK19,
        FRANK,
        FABLES,
        BOOOOKSCORE,
        UNISUMEVAL,
        GENERIC,
    )
}

"""What the contracts of reports are made of: models that take fields from records, and text that is safe to show."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from redraft.text.sanitizer import clean, one_line, scrubbed, scrubbed_all

Clean = Annotated[str, AfterValidator(clean)]
"""Text without control characters."""
Line = Annotated[str, AfterValidator(one_line)]
"""Text on one line."""
Scrubbed = Annotated[str, AfterValidator(scrubbed)]
"""Text without the paths and user names of this machine."""
ScrubbedLine = Annotated[Line, AfterValidator(scrubbed)]
"""The same on one line."""
ScrubbedDict = Annotated[dict[str, Any], BeforeValidator(scrubbed_all)]
"""A mapping in which all text is scrubbed."""


class Entry(BaseModel):
    """A value of a contract."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def of(cls, record: object, **others: Any) -> Self:
        """The entry of a record: fields with the same name are taken from it, and `others` are given."""
        shared = cls.model_fields.keys() - others.keys()
        return cls(**{name: getattr(record, name) for name in shared if hasattr(record, name)}, **others)

"""The base of report models: they take fields from records, and their text is safe to show."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict

from redraft.text.sanitizer import clean, one_line, scrubbed

Clean = Annotated[str, AfterValidator(clean)]
"""Text without control characters."""
Line = Annotated[str, AfterValidator(one_line)]
"""Text on one line."""
Scrubbed = Annotated[str, AfterValidator(scrubbed)]
"""Text without the paths and user names of this machine."""
ScrubbedLine = Annotated[Line, AfterValidator(scrubbed)]
"""The same on one line."""


class Entry(BaseModel):
    """A value of a contract."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def of(cls, *records: object, **values: Any) -> Self:
        """The entry of some records: fields are taken from the first that has the name, unless `values` has it."""
        names = cls.model_fields.keys() - values.keys()
        fields = {
            name: getattr(record, name) for record in reversed(records) for name in names if hasattr(record, name)
        }
        return cls(**fields, **values)

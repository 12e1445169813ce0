"""Templates: what their headings say, and what is wrong with them by its line."""

from __future__ import annotations

import pytest

from redraft.errors import UsageError
from redraft.report.outputs.formats import TemplateSection, read_template

FORM = """# Report

<!-- Two lines
of comment (10 words) -->
## Findings (120 words) ##
What was found out,
and how sure is it?

## Who (at most 40 Words)
### Outlook (after 1924)
What comes next?
"""


def test_headings_have_limits_and_say_what_belongs_there() -> None:
    made = read_template(FORM, "form.md", words=50)
    assert made.sections == (
        TemplateSection("Report", 1, 1),
        TemplateSection("Findings", 2, 5, 120, "What was found out, and how sure is it?"),
        TemplateSection("Who", 2, 9, 40),
        TemplateSection("Outlook (after 1924)", 3, 10, 50, "What comes next?"),
    )
    assert [one.query for one in made.drafted] == [
        "Findings: What was found out, and how sure is it?",
        "Who",
        "Outlook (after 1924): What comes next?",
    ]


def test_a_title_may_be_of_the_same_rank_as_the_sections() -> None:
    made = read_template("# Report\n# Findings (20 words)", "form.docx")
    assert [one.words for one in made.sections] == [None, 20]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no heading"),
        ("Nothing but text.", "line 1: there is text before the first heading"),
        ("# A (20 words)\n\n## B\nWhat?", "line 3: the section 'B' has no limit"),
        ("# A (9 words)", "line 1: a limit is at least 10 words"),
        ("# A (20 words)\nx\n# A (20 words)\nx", "line 3: the section 'A' is the same as that of line 1"),
        ("# (20 words)", "line 1: the title is missing"),
        (f"# A (20 words)\n{'x ' * 2000}", "line 1: the instruction under 'A' is longer than 2,000 characters"),
        ("# A (20 words)\n" * 101, "line 101: a template has at most 100 headings"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_what_to_do(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_template(text, "form.md")
    assert said in caught.value.message
    assert caught.value.place == "form.md"
    assert caught.value.hint

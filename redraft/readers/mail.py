"""E-mails (.eml): the text of a message, its subject as title; of HTML alone what is left after its markup."""

from __future__ import annotations

import re
from email import message_from_bytes, policy
from email.message import EmailMessage

from redraft.errors import DocumentError
from redraft.readers import html
from redraft.readers.builder import ReadText, TextBuilder
from redraft.text.sanitizer import clean, one_line


def read(data: bytes, name: str) -> ReadText:
    """Return the text of a message, after its sender, recipients and date."""
    mail = message_from_bytes(data, policy=policy.default)
    body = mail.get_body(("plain", "html")) if isinstance(mail, EmailMessage) else None
    if body is None:
        raise DocumentError("it has no text", place=name, hint="give a message that has a text, saved as .eml")
    builder, subject = TextBuilder(), one_line(str(mail["subject"] or ""))
    try:
        content = body.get_content()
    except (LookupError, UnicodeError):
        content = (body.get_payload(decode=True) or b"").decode("utf-8", "replace")  # type: ignore[union-attr]
    if subject:
        builder.heading(1, [subject])
    for header in ("From", "To", "Date"):
        if mail[header]:
            builder.add([f"{header}: {one_line(str(mail[header]))}"], between="\n" if header != "From" else "\n\n")
    for attached in mail.iter_attachments():
        builder.leave_out(f"attached files ({one_line(attached.get_filename() or attached.get_content_type(), 60)})")
    if body.get_content_subtype() == "html":
        page = html.read(content.encode(), name)
        builder.oddities.extend(page.notes)
        content = page.text
    for paragraph in re.split(r"\n\s*\n", clean(content)):
        builder.verbatim(paragraph)
    return builder.reading(subject)

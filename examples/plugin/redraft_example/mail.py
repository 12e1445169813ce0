"""A reader for `.eml` files: saved e-mails, without their headers and attachments."""

from __future__ import annotations

from email import message_from_bytes, policy

from redraft import Document


def read(data: bytes, name: str) -> Document:
    """Return a document of the plain text of an e-mail. A reader is given the bytes of the file, and its name."""
    mail = message_from_bytes(data, policy=policy.default)
    body = mail.get_body(("plain",))
    if body is None:
        raise ValueError("it has no plain text")
    return Document.from_text(body.get_content(), title=str(mail["subject"] or name))

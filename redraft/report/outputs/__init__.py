"""Output formats of a summary: text, Markdown, bullets, an HTML page, or a .docx document."""

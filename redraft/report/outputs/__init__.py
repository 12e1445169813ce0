"""What there is to hand on of a result: a summary as text, Markdown, bullets, a page, or a document."""

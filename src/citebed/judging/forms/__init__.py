"""Forms that a judge fills: one sheet, written and read as text, PDF and HTML."""

"""Papers as PDF files: pages, lines, paragraphs, sentences that cite, references."""

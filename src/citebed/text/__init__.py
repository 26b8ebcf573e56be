"""Text before anyone uses it: normalising, LaTeX, languages, sentences, markers, hyphens, names."""

"""Clean and analyse text: LaTeX, languages, sentences, citation markers, identifiers, names."""

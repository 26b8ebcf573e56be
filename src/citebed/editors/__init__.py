"""citebed in other programs: a language server for editors and tools for assistants."""

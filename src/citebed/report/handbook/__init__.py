"""The documentation as a site: pages from Markdown and docstrings, with a search of their own."""

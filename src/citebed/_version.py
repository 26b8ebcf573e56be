"""The version of citebed."""

__version__ = "0.4.0"

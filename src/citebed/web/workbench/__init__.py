"""The workbench in the browser: one local web app over collections."""

"""Output for people: tables, plots and self-contained HTML pages."""

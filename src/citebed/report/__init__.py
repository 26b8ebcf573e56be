"""What people look at: tables, plots, self-contained HTML."""

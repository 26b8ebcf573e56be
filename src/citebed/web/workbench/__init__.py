"""The workbench: pages to recommend, find, evaluate and import, and the API behind them."""

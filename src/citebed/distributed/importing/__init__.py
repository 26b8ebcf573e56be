"""Import on an engine: workers read, merge and write, with the results of one machine."""

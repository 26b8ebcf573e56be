"""Statistics of scores per query: tests, intervals, corrections, effects, correlations.

Pure functions over numpy arrays, independent of runs and files. They accept clusters of queries
for queries that are not independent.
"""

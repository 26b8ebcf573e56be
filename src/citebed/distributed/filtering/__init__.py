"""Filter on an engine: a stream in parts, in order of time, with the same bytes as on one machine.

The expensive work does not depend on earlier parts: workers read each document once and store its
features. From their counts, and from the few documents that the filter learns from, the driver
computes the filter's state at the beginning of each part. With it workers score the parts as one
machine would. The parts stay in a folder beside the output until the run is complete.
"""

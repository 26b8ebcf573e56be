"""Filtering on an engine: a stream in parts, in the order of time, and the bytes of one machine.

What is dear does not depend on what came before: workers read the parts, each document once, and
keep what it says as numbers. From what they counted, and from the few documents that are learned
from, the filter's state at the beginning of each part is made here; with it the workers score the
parts, as one machine would have. The parts lie in a folder beside the output until it is done.
"""

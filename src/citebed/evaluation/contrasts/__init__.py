"""Contrasts: the same runs under two judgement sets.

``contrast`` compares two given sets. ``pool_bias`` makes the second set itself, by removing the
judgements that one run or team alone contributed to the pool.
"""

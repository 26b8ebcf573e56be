"""Contrasts: the same runs under two judgement sets, and what judgements a pool lacks.

``contrasting`` lays two judgement sets side by side; ``pool_bias`` makes the second set itself,
by leaving out what one run or team alone brought to the judges.
"""

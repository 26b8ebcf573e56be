"""Experiments on a collection: its runs and judgements, and what is to be seen of them."""

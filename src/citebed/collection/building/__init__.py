"""Parsed tables into a collection: canonical, merged, by rules, with queries and judgements."""

"""The store of a campaign: its database, what was said in it, its copies."""

"""Public collections, from their origins or a mirror."""

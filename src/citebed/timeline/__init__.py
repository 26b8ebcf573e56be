"""How good a filter stays: time slices, weights, sliced evaluation, stream filters."""

"""The library of a collection: find documents, look at one and its neighbours, draw maps."""

"""The library of a collection: finding documents, a document and what is around it, maps."""

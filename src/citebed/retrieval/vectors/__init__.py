"""Dense retrieval: texts as vectors, by a small model of the package or by an encoder."""

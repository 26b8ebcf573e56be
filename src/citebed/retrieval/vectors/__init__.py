"""Dense retrieval: texts as vectors, by word vectors or by an encoder."""

"""The program trec_eval: its command line, its lines, its numbers, by our measures."""

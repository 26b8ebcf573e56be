"""The encoder that is got with one command, and encoders as makers of an index's vectors."""

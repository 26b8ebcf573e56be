"""Generated papers for tests, in the styles of many fields, with their ground truth."""

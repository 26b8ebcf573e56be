"""Papers made up for tests: nobody's words, in the styles of many fields, with what is true."""

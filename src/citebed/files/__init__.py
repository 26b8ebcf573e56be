"""Files of users and for users: opened with a limit, written whole or not at all.

Nobody else opens a packed file, reads a small one at once, or renames a file into being.
"""

"""Files of users and for users: opened with a limit, written completely or not at all.

Only this package opens packed files, reads small files at once, and renames files into place.
"""

"""The cause of a crash: finds the error and its place in the last lines that a program wrote to stderr.

One file for each family of languages, all pure; `last_words` words it for a process that has ended.
"""

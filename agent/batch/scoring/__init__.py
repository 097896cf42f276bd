"""Scores of runs: carries out a `score` command, reads the score from its end and its output, and scores the results of
a batch again.
"""

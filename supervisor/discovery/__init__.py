"""Finds extensions, decides whether they are trusted, and chooses the environment and the data folder of each.

Starts nothing and installs nothing.
"""

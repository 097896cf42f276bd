"""Which extensions there are, whether they are trusted, and what environment and data folder each one gets.

Starts nothing and installs nothing.
"""

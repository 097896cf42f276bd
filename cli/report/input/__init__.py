"""Reads an event stream or a stats file into the recorded run that a report is made from.

Draws nothing.
"""

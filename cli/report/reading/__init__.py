"""Reads an event stream or a stats file into the recording that a report is made from."""

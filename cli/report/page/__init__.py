"""The HTML page of a report: its headline, findings and table, its style and script, and the page around them.

The charts are in `charts`.
"""

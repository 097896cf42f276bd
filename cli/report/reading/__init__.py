"""Reads what a report is made from: event streams, stats files, recordings."""

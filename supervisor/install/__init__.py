"""Installs, updates, enables and removes extensions, each in one step that happens whole or not at all.

Finding what is installed for a run is in `supervisor.discovery`.
"""

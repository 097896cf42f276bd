"""Installs, updates, enables and removes extensions. Each command changes everything or nothing.

`supervisor.discovery` finds the extensions of a run.
"""

"""Installs, updates, enables and removes extensions, and installs the Copilot SDK. Each command changes everything or
nothing.

`supervisor.discovery` finds the extensions of a run.
"""

"""Definitions of what runs tell and leave about their extensions, beside their figures: one file for each kind."""

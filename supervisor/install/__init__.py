"""Installs, updates, removes, enables and disables extensions. Nothing here starts one."""

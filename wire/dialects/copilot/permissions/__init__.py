"""Permissions of tool calls: `asked` has what a permission handler is asked, and `answers` what the handler says."""

"""Permissions of tool calls: `asked` has what a permission handler is asked, `shell_words` the programs and paths of a
command in it, `answers` what the handler says, and `approvals` what it has approved for the session."""

"""Permissions of tool calls: `asked` has what a permission handler is asked, `answers` what the handler says, and
`approvals` what it has approved for the session."""

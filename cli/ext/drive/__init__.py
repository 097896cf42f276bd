"""`zot ext drive`: one extension by hand, at a prompt."""

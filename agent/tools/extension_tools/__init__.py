"""The tools by which the agent itself writes, looks at and reloads Copilot extensions: `extensions_manage` and
`extensions_reload`.

`tools` reads the arguments and carries out the calls; `rows` gathers the facts about extensions, and `report` makes the
texts. Pure except for `tools`, and for the logs that `rows` reads.
"""

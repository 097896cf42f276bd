"""The tools by which the agent itself writes, looks at and reloads Copilot extensions: `extensions_manage` and
`extensions_reload`.

`tools` reads the arguments and carries the calls out; `rows` gathers what is known of the extensions, and `report`
makes the texts. Pure but for `tools`, and the logs that `rows` reads.
"""

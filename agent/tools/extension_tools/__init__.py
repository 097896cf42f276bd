"""The tools by which the agent itself writes, looks at and reloads Copilot extensions: `extensions_manage` and
`extensions_reload`.

`request` reads the arguments, `report` makes the texts, both pure; `tools` carries the calls out.
"""

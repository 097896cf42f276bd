"""Files that a user writes for this program and for zot, whose schemas are published. `extension.json` is
`wire.manifest`."""

"""Files that a user writes for this program and for zot: their schemas, and their faults. The manifest is in
`wire.manifest`."""

"""Files that a user writes for this program and for zot: their schemas and faults. Manifests: `wire.manifest`."""

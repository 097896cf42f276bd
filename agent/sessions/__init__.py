"""Session files: zot's format, appended to as a run goes on."""

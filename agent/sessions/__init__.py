"""Session files in zot's format, written while a run goes on."""

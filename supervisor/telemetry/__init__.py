"""OpenTelemetry of a host: the spans that are open, the spans about its extensions, and the process that exports them.

Only `exporter_main`, that process, imports the SDK. A host without `--otel` imports nothing of this room.
"""

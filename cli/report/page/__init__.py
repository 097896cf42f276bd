"""The HTML page of a report: headline, findings, table, and all together."""

"""The HTML page of a report: headline, findings, tables, and how quantities are written."""

"""The HTML page of a report: its headline, findings and table, and the page around them and the charts."""

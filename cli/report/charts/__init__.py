"""The charts of a report, each as one SVG."""

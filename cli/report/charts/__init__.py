"""The charts of a report, each as one SVG: lanes, series, histograms.

The data comes from `reading`; the page around the charts is in `page`.
"""

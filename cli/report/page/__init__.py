"""Parts that all pages of a report share: the document, its top, its tables, and the one script that draws.

Tables are made here, once, and are all that a page shows without its script. `script/` sorts them, and draws the charts
from the JSON in the page.
"""

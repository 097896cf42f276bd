"""`zot top`: `model` decides what is shown, `screen` draws it, `live` updates it."""

"""`zot top`: what it shows is decided in `model`, drawn in `screen`, kept up to date in `live`."""

"""The version of this program. The wheel and `pyzot.__version__` take it from here."""

VERSION = "0.1.0"

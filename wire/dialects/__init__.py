"""The protocols that extensions speak: `base` is what every dialect can do, `zot` is zot's own."""

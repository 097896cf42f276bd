"""How often, in how many runs and how fast `zot ext bisect` names the extension that makes a run go bad."""

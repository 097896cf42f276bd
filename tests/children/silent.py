"""Never says a word, not even hello; leaves at EOF or shutdown."""

import sys

for line in sys.stdin:
    if '"shutdown"' in line:
        break

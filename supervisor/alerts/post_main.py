"""Sends an alert to an address. Standard input has the address on its first line, and JSON on the next.

The exit status is 0 if the server has accepted it, by an answer from 200 to 299. A redirect is refused: it could lead
anywhere. Else the last line of standard error says why, without the address, which may hold a secret.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

WAIT_S = 10.0
"""Seconds that the server may take for each step."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Makes a redirect an error."""

    def redirect_request(self, *_: object) -> None:
        return None


def post(url: str, body: bytes) -> str:
    """Returns why it failed; empty if it did not."""
    headers = {"Content-Type": "application/json", "User-Agent": "zot"}
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310  (the config takes http(s) only)
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=WAIT_S):
            return ""
    except urllib.error.HTTPError as error:
        with error:
            return f"the server answers {error.code}"
    except urllib.error.URLError as error:
        return f"the server cannot be reached: {getattr(error.reason, 'strerror', None) or error.reason}"
    except Exception as error:  # of http.client, or of the socket
        return f"the server cannot be reached: {type(error).__name__}"


def main() -> int:
    """Returns the exit status."""
    url, _, body = sys.stdin.buffer.read().partition(b"\n")
    if failure := post(url.decode(), body.strip()):
        print(failure, file=sys.stderr)  # noqa: T201
    return bool(failure)


if __name__ == "__main__":
    sys.exit(main())

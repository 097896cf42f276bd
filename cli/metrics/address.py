"""The address of `--listen`: `127.0.0.1:9469`, `localhost:9469`, `[::1]:9469`. Pure."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from cli.choices import CommandLineError

EXAMPLE = "write HOST:PORT, such as 127.0.0.1:9469 or [::1]:9469"
LARGEST_PORT = 65_535


class Address(NamedTuple):
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine reach it, as far as its text tells."""
        try:
            return ipaddress.ip_address(self.host.partition("%")[0]).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Raises `CommandLineError`."""
    host, colon, port = text.strip().rpartition(":")
    if "://" in text:
        raise CommandLineError(f"--listen {text!r}: not a URL; {EXAMPLE}")
    if not colon or not host:
        raise CommandLineError(f"--listen {text!r}: the host or the port is missing; {EXAMPLE}")
    if not (port.isascii() and port.isdecimal()) or int(port) > LARGEST_PORT:
        raise CommandLineError(f"--listen {text!r}: {port!r} is no port; ports are 0 to {LARGEST_PORT}")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise CommandLineError(f"--listen {text!r}: an IPv6 address is written in brackets; {EXAMPLE}")
    if not host or any(not sign.isprintable() or sign in " /[]" for sign in host):
        raise CommandLineError(f"--listen {text!r}: {host!r} is no host; {EXAMPLE}")
    return Address(host, int(port))

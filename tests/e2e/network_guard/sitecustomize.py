"""Loaded by every Python process of a guarded studio: writes down and refuses each connection that would leave this machine.

Where: Python's audit events (PEP 578) for sockets; the log's path is in DIPTYCH_TEST_NETWORK_LOG.

It deliberately lets loopback and local sockets pass, and changes nothing else.
"""

import ipaddress
import os
import sys
from typing import Any

_LOG = os.environ.get("DIPTYCH_TEST_NETWORK_LOG", "")


def _is_local(host: Any) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name is None or name == "localhost":
        return True
    try:
        return ipaddress.ip_address(str(name).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.bind"):
        address = arguments[1]
        local = not isinstance(address, tuple) or _is_local(address[0])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        local = _is_local(arguments[0])
    else:
        return
    if local:
        return
    with open(_LOG, "a", encoding="utf-8") as log:
        log.write(f"{event} {arguments[1:] if event.startswith('socket.c') else arguments[:2]}\n")
    raise PermissionError(f"{event} beyond this machine is refused by the test")


if _LOG:
    sys.addaudithook(_watch)

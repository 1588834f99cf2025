"""PCI ids in one form, however a driver, NCCL or a tool prints them."""

from __future__ import annotations

import re

_PRINTED = re.compile(
    r"(?i)(?:PCI:)?(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})"
    r"(?:\.[0-7])?"
)
_PACKED = re.compile(r"(?i)[0-9a-f]{2,12}")


def normal_pci(text: str | None) -> str | None:
    """Return ``dddd:bb:dd`` of a printed PCI id, null when it is none.

    The function is left out, since the driver leaves it out too; a missing domain is 0.

    >>> normal_pci("PCI:0000:4E:00"), normal_pci("00000000:4e:00.0"), normal_pci("GPU-17a")
    ('0000:4e:00', '0000:4e:00', None)
    """
    found = _PRINTED.fullmatch(text.strip()) if text is not None else None
    if found is None:
        return None
    domain = int(found["domain"] or "0", 16)
    return f"{domain:04x}:{found['bus'].lower()}:{found['device'].lower()}"


def unpacked_pci(text: str | None) -> str | None:
    """Return the same of NCCL's ``busId``, one hexadecimal number: domain, bus, device, function.

    >>> unpacked_pci("4e000"), unpacked_pci("100000cb000"), unpacked_pci("x")
    ('0000:4e:00', '100000:cb:00', None)
    """
    if text is None or _PACKED.fullmatch(text) is None:
        return None
    number = int(text, 16)
    return f"{number >> 20:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}"

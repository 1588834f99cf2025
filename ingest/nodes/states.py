"""Slurm's words for the state of a node, as its commands print them."""

from __future__ import annotations

import re

_WORD = (
    r"alloc(?:ated)?|blocked|cloud|comp(?:leting)?|down|drain(?:ed|ing)?|drng"
    r"|dynamic_(?:future|norm)|error|external|fail(?:ing)?|failg|futr|future?|idle|inval(?:id_reg)?"
    r"|maint(?:enance)?|mix(?:ed)?|no_respond|not_responding|npc|perfctrs|planned|plnd"
    r"|pow_(?:dn|up)|power(?:ed|ing)_(?:down|up)|power_(?:down|drain|up)"
    r"|reboot(?:_issued|_requested)?|res(?:v|erved)?|resume|undrain|unk|unknown"
)
_FLAGS = r"[*~#!%$@^+-]*"
STATE = re.compile(rf"(?:{_WORD}){_FLAGS}(?:\+(?:{_WORD}){_FLAGS})*", re.IGNORECASE)
"""One state or several joined by ``+``, each with the signs that sinfo puts behind it."""

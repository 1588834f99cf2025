"""The settings that benches of one promise share: proved with them, or not at all."""

from __future__ import annotations

from hashlib import blake2b

from relume.serve.live.watch import WatchSettings


def settings_hash(settings: WatchSettings) -> str:
    """Return a hash of the thresholds of both detectors, the same for equal ones.

    Delays and false alarms belong together only where it is the same.

    >>> settings_hash(WatchSettings()) == settings_hash(WatchSettings(suspects_stragglers=True))
    True
    """
    text = "\x1f".join(map(repr, (settings.hang, settings.straggler)))
    return blake2b(text.encode(), digest_size=8).hexdigest()

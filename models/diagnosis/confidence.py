"""How sure a verdict about a failure is: by the strength of its evidence.

The values follow the ordering rule and were set by hand where several hundred labelled excerpts,
recorded and made up, put them; bench `cases` prints the expected calibration error. A fitted
calibration belongs to a later change.
"""

from __future__ import annotations

from relume.models.diagnosis.consequences import is_generic
from relume.models.diagnosis.order import Root
from relume.models.signatures.rule import Role, Tier

_BY_TIER: dict[Tier, float] = {
    Tier.DECISIVE: 0.99,
    Tier.HARDWARE: 0.98,
    Tier.EXCEPTION: 0.97,
    Tier.FABRIC: 0.97,
    Tier.TIMEOUT: 0.97,
    Tier.POINTER: 0.96,
    Tier.TEARDOWN: 0.9,
}
CASCADE_FACTOR = 0.92
GENERIC_FACTOR = 0.94


def root_confidence(root: Root) -> float:
    """Confidence (0-1) that the kind of `root` is right.

    Lower for victims' lines and for unspecific wording. What speaks against it comes on top:
    `relume.models.diagnosis.doubt`.
    """
    signature = root.hit.signature
    value = _BY_TIER[signature.tier]
    if signature.role is Role.CASCADE:
        value *= CASCADE_FACTOR
    if is_generic(root.hit):
        value *= GENERIC_FACTOR
    return value

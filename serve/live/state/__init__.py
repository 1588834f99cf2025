"""What a live run knows, kept on disk: a restart goes on from it and from what landed since.

`docs/formats/state.md` describes the files. Whatever is wrong with them costs time and no verdict:
the run then judges again what the lake holds.
"""

from __future__ import annotations

from relume.serve.live.state.binding import Binding, LakePoint, bound
from relume.serve.live.state.keeper import Kept, StateKeeper

__all__ = ["Binding", "Kept", "LakePoint", "StateKeeper", "bound"]

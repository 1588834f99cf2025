"""A judge that is put on disk and read back in the middle of a story."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from clusters import analyzer
from relume.advice import Advice
from relume.ingest.lake.batches import Landing
from relume.models.templates.history import TemplateHistory
from relume.serve.live.aftermath import Told
from relume.serve.live.judge import Judge
from relume.serve.live.judged import Judged
from relume.serve.live.state.codec import dumps, load
from relume.serve.live.state.digest import digest_of
from relume.serve.live.watch import WatchSettings


@dataclass
class Story:
    """What a judge makes of landings, and digests of what it knew at some of them."""

    judge: Judge
    advice: list[Advice] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    digests: dict[int, str] = field(default_factory=dict)

    def is_like(self, other: Story) -> bool:
        """Whether another story is the same, to the bit."""
        mine, theirs = (self.advice, self.told), (other.advice, other.told)
        return mine == theirs and self.digests == other.digests


def restored(judge: Judge) -> Judge:
    """Return another judge that knows what this one does, by way of bytes."""
    stream = io.BytesIO(dumps((judge.judged(), judge.history), analyzer()))
    read = load(stream, analyzer())
    assert isinstance(read, tuple)
    known, history = read
    assert isinstance(known, Judged)
    another = Judge(analyzer(), judge.settings, history=history, teaches=history)
    another.resume(known)
    return another


def digest_of_judge(judge: Judge) -> str:
    """Return a digest of all that a judge knows."""
    names = {"analyzer": analyzer(), "scanner": analyzer().scanner}
    names |= analyzer().scanner._asdict()
    known = {id(one): name for name, one in names.items()}
    return digest_of((judge.judged(), judge.history), known)


def tell(
    landings: Sequence[Landing],
    settings: WatchSettings,
    *,
    cuts: Collection[int] = (),
    looks: Collection[int] = (),
    learns: bool = True,
) -> Story:
    """Judge landings; before those at `cuts` it is restored, before those at `looks` digested."""
    history = TemplateHistory() if learns else None
    story = Story(Judge(analyzer(), settings, history=history, teaches=history))
    for place, landing in enumerate(landings):
        if place in cuts:
            story.judge = restored(story.judge)
        if place in looks:
            story.digests[place] = digest_of_judge(story.judge)
        story.advice += story.judge.take(landing)
        story.told += story.judge.told
    story.digests[len(landings)] = digest_of_judge(story.judge)
    return story

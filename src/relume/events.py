"""The events that every part of Relume speaks. Times are UTC int64 microseconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogLine:
    """One logical line of a log, parsed at the border.

    `line` is the 0-based physical line in `file` (a progress bar redrawn with carriage returns gives
    many logical lines with one number); `offset` is the byte offset of that physical line in the
    uncompressed file. `text[message_start:]` is the message after every known prefix. `task` is the
    `srun --label` number, `local_rank` torchrun's, `rank` the global rank; `gpu` what a prefix says.
    """

    text: str
    line: int
    offset: int
    file: str
    message_start: int = 0
    stream: str = "stdout"
    attempt: str | None = None
    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    gpu: str | None = None
    event_time: int | None = None
    observed_at: int | None = None
    cluster: str = "local"
    source: str = "file"

    @property
    def message(self) -> str:
        """The text after all prefixes."""
        return self.text[self.message_start :]

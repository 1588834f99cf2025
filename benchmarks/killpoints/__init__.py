"""Bench `kill-points`: a service that dies at any write loses nothing and says nothing twice.

- `disk`: what a disk may hold after a death, without power too.
- `recorder`: the disk at every write, fsync, rename and unlink of a run.
- `story`: what the run is about, and a service that lives through it.
- `deaths`: a service that starts on such a disk, and what it must come to.
- `sigkills`: a real `relume serve`, killed again and again.
"""

"""Parts of the live tailer: safe opening, positions that survive a restart, whole lines."""

"""The Slurm controller: carries Advice out on jobs that opted in, and lets go what it holds.

`plan` decides (pure), `loop` runs rounds, `executor` does one step with a journal around it,
`watchdog` takes holds off when the rest is gone. All of Slurm is behind `reader` and `actuator`.
See `docs/controller.md`.
"""

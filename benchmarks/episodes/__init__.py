"""Generated multi-rank failures with exact labels, half of them in forms no rule was written for.

WHO WRITES RULES MUST NOT READ `unseen`: it holds the forms of a third group, which measures only as
long as nobody tunes for it.

`world` draws a cluster, `stories` say what happens on it, `writers` and `systems` how a line looks,
`layout` into which files the lines go, `plan` and `generate` put them together, `bench` scores.
Simulated: never pooled with what is measured on recordings.
"""

"""Generated multi-rank failures with exact labels, half of them in forms no rule was written for.

`world` draws a cluster, `stories` say what happens on it, `writers` and `systems` how a line looks,
`layout` into which files the lines go, `plan` and `generate` put them together, `bench` scores.
Simulated: never pooled with what is measured on recordings.
"""

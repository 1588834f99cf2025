"""Frames and charts for notebooks: a lake's attempts and failures as Polars, and Altair charts.

`attempts` of `relume.analysis.attempts` judges a lake, which takes a while; `counts` and
`charts` are made from its frame. For SQL and for raw tables there are `relume.ingest.lake.sql` and
`relume.ingest.lake.frames`.
"""

"""First look at a cluster's failures: what ran, what failed, why, where, and what came again.

`marimo edit notebooks/first_look.py -- --lake FOLDER`, or RELUME_LAKE; without either it shows a
small simulated cluster. As a program (`python notebooks/first_look.py --lake FOLDER`) it prints the
counts, or says in one line why it can't (exit code 2). See docs/notebooks.md.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Relume: first look")


@app.cell
def _():
    import os
    import sys
    import tempfile
    from pathlib import Path

    import marimo as mo
    import polars as pl

    from relume.analysis import charts, counts
    from relume.analysis.attempts import attempts as judged
    from relume.analysis.progress import progress
    from relume.errors import InputError, RelumeError
    from relume.ingest.lake.sql import connect

    def told(call, *arguments: object):
        """Call it; what is wrong with the lake is one message, and ends this."""
        try:
            return call(*arguments)
        except RelumeError as error:
            if mo.app_meta().mode == "script":
                sys.stderr.write(f"first look: {error}\n")
                sys.exit(2)
            mo.stop(predicate=True, output=mo.callout(str(error), kind="danger"))

    return InputError, Path, charts, connect, counts, judged, mo, os, pl, progress, tempfile, told


@app.cell
def _(InputError, mo, os, told):
    def name():
        if "lake" not in mo.cli_args():
            return os.environ.get("RELUME_LAKE")
        given = mo.cli_args()["lake"]
        if given is True or not str(given).strip():
            raise InputError(
                "--lake",
                found="no value",
                expected="the folder of a lake",
                hint="leave --lake out to see a simulated cluster",
            )
        return given

    named = told(name)
    return (named,)


@app.cell
def _(Path, connect, named, tempfile, told):
    def demo():
        from relume.benchmarks.demo.lake import demo_lake

        folder = tempfile.TemporaryDirectory(prefix="relume-first-look-")
        return demo_lake(Path(folder.name)), folder

    # The folder of the demo is there as long as this value is, so it must not be the cell's own.
    lake, demo_folder = (Path(str(named)), None) if named else demo()
    is_demo = demo_folder is not None
    told(connect, lake).close()
    return demo_folder, is_demo, lake


@app.cell
def _(is_demo, lake, mo):
    _what = (
        "a **simulated** cluster: say `--lake FOLDER` or set `RELUME_LAKE` to see yours"
        if is_demo
        else f"`{lake}`"
    )
    mo.md(f"""
    # First look at a cluster's failures

    This is {_what}. Every attempt of the lake is judged by the code that watches live jobs,
    so what is said below is what `relume serve` would have said then. *Failed* means by
    Slurm's word or by the verdict; time limits, preemptions and cancellations are no
    failures.
    """)
    return


@app.cell
def _(judged, lake, told):
    attempts = told(judged, lake)
    return (attempts,)


@app.cell
def _(attempts, counts, mo):
    failures = counts.failures(attempts)
    totals = {
        "attempts": attempts.height,
        "runs": attempts["run"].n_unique(),
        "failed": failures.height,
        "cause unknown": failures["cause"].null_count(),
        "without a log": failures.filter(failures["logs"].list.len() == 0).height,
    }
    mo.vstack(
        [
            mo.md("""
    ## What ran, and how much of it failed

    *Cause unknown* and *without a log* say how far the rest can be trusted: where logs are
    missing, only the scheduler's word is left.
    """),
            mo.hstack([mo.stat(str(count), label=what) for what, count in totals.items()]),
        ]
    )
    return failures, totals


@app.cell
def _(connect, lake, mo):
    with connect(lake) as _connection:
        landed = _connection.sql("""
            SELECT coalesce(attempt, 'of a node') AS attempt, stream, count(*) AS lines,
                   sum(length(text)) AS characters
            FROM log_line GROUP BY ALL ORDER BY lines DESC LIMIT 10
        """).pl()
    mo.vstack(
        [
            mo.md("""
    The lake is Parquet, and DuckDB reads the very files: any question that this page
    doesn't answer is one query away (`relume lake sql`, or `connect` as in this cell). The
    longest logs:
    """),
            mo.ui.table(landed, selection=None),
        ]
    )
    return (landed,)


@app.cell
def _(attempts, charts, counts, mo):
    causes = counts.per_cause(attempts)
    mo.vstack(
        [
            mo.md("""
    ## When, and why

    A day that stands out in **one** colour is mostly one incident: a filesystem, a switch,
    a bad release. The domain says who can mend it: *workload* the job's owner, *hardware*,
    *network* and *platform* the cluster's.
    """),
            mo.hstack([charts.failures_per_day(attempts), charts.top_causes(attempts)]),
            mo.ui.table(causes, selection=None),
        ]
    )
    return (causes,)


@app.cell
def _(attempts, counts, mo):
    rules = counts.per_rule(attempts)
    mo.vstack(
        [
            mo.md("""
    Which rule decided (`relume rules list` says what each one means); null is the
    scheduler's word, or a finding without a line, such as a hang by silence.
    """),
            mo.ui.table(rules, selection=None),
        ]
    )
    return (rules,)


@app.cell
def _(attempts, charts, counts, mo):
    nodes = counts.per_node(attempts)
    mo.vstack(
        [
            mo.md("""
    ## Where

    Only *blamed* counts against a node. The other columns are its share of the work: when a
    job of a hundred nodes fails, ninety-nine of them are victims, so a node with many
    failed attempts and no blame is just busy. Look twice at one that is blamed more than
    once.
    """),
            charts.blamed_nodes(attempts),
            mo.ui.table(nodes, selection=None),
        ]
    )
    return (nodes,)


@app.cell
def _(attempts, charts, counts, mo):
    repeats = counts.repeats(attempts)
    mo.vstack(
        [
            mo.md("""
    ## What came again

    Failures with one fingerprint are the same failure, whatever the hosts, ranks and
    numbers. *in a row* is the longest series in one run that gained no step: from the
    second on, a restart was futile, and a workload failure would have been stopped there.
    """),
            mo.ui.table(repeats, selection=None),
            charts.restart_chains(attempts),
        ]
    )
    return (repeats,)


@app.cell
def _(failures, mo):
    choice = mo.ui.dropdown(
        options=failures["attempt"].to_list(),
        value=failures["attempt"][0] if failures.height else None,
        label="attempt",
    )
    mo.vstack([mo.md("## One failure in detail"), choice])
    return (choice,)


@app.cell
def _(choice, failures, mo, pl):
    detail = failures.filter(pl.col("attempt") == choice.value).to_dicts()
    evidence = pl.DataFrame(detail[0]["evidence"] if detail else [])

    def _said(one):
        advised = " ".join([one["operation"] or "nothing", *(one["exclude_nodes"] or [])])
        found = one["cause"] or "cause unknown"
        return "\n".join(
            [
                f"**{one['kind']}: {found}** ({one['domain']}),",
                f"confidence {one['confidence']:.2f}; Slurm says {one['state']}.",
                f"Advised: **{advised}**. Steps {one['first_step']} to {one['last_step']},",
                f"{len(one['nodes'] or [])} nodes.",
                "",
                *(f"- {reason}" for reason in one["why"] or []),
                *(f"- missing: {reason}" for reason in one["missing"] or []),
                "",
                "Evidence, the proving line first:",
            ]
        )

    mo.vstack(
        [mo.md(_said(detail[0])), mo.ui.table(evidence, selection=None)]
        if detail
        else [mo.md("Nothing failed.")]
    )
    return detail, evidence


@app.cell
def _(charts, choice, lake, mo, progress):
    steps = progress(lake, choice.value) if choice.value else None
    mo.vstack(
        [
            mo.md("""
    How it came to the failure. In a hang the last silence towers above all others; a
    straggler's step time rises and stays; a crash just stops.
    """),
            mo.hstack([charts.silence(steps), charts.step_time(steps)]),
        ]
        if steps is not None and steps.height
        else [mo.md("Its log shows no steps.")]
    )
    return (steps,)


@app.cell
def _(is_demo, mo, totals):
    if mo.app_meta().mode == "script":
        if is_demo:
            print("a simulated cluster (--lake FOLDER shows yours):")  # noqa: T201
        print(*(f"{count} {what}" for what, count in totals.items()), sep=", ")  # noqa: T201
    return


if __name__ == "__main__":
    app.run()

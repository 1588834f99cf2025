"""Prefixes of ranks' lines in the third group: the same facts as in `writers`, in other words."""

from __future__ import annotations

from relume.benchmarks.episodes.writers import as_json, milliseconds, style

UNSEEN_STYLES = (
    style(
        "ray_actor", "rank", lambda v, t: f"(train_fn pid={v.world.pid(v.rank)}, rank={v.rank}) {t}"
    ),
    style(
        "cri",
        "rank node",
        lambda v, t: (
            f"{v.clock:%Y-%m-%dT%H:%M:%S.%f}000Z stderr F pod=llm-{v.world.job_id}-{v.rank} "
            f"host={v.node} {t}"
        ),
    ),
    style(
        "zap",
        "rank node",
        lambda v, t: as_json(
            level=v.level.lower(),
            ts=round(v.clock.timestamp(), 6),
            caller="worker/run.go:88",
            msg=t,
            worker={"rank": v.rank, "host": v.node},
        ),
    ),
    style(
        "glog_year",
        "rank node",
        lambda v, t: (
            f"{v.level[0]}{v.clock:%Y%m%d %H:%M:%S.%f} {v.world.pid(v.rank)} loop.cc:88] "
            f"[r{v.rank}@{v.node}] {t}"
        ),
    ),
    style(
        "spdlog",
        "rank",
        lambda v, t: f"[{milliseconds(v.clock, '.')}] [trainer.r{v.rank}] [{v.level.lower()}] {t}",
    ),
    style(
        "tracing",
        "rank node",
        lambda v, t: (
            f"{v.clock:%Y-%m-%dT%H:%M:%S.%f}Z {v.level:>5} train{{rank={v.rank} host={v.node}}}: "
            f"worker::run: {t}"
        ),
    ),
    style(
        "log4j",
        "rank node",
        lambda v, t: (
            f"{v.clock:%y/%m/%d %H:%M:%S} {v.level} TrainExecutor: (worker {v.rank} on {v.node}) {t}"
        ),
    ),
    style("pdsh", "node", lambda v, t: f"{v.node}: {t}"),
    style("hydra_number", "rank", lambda v, t: f"[{v.rank}] {t}", only="hydra"),
    style(
        "stern",
        "rank",
        lambda v, t: f"llm-{v.world.job_id}-worker-{v.rank} \u203a trainer {t}",
        only="kubeflow srun",
    ),
    style(
        "unit_instance",
        "rank node",
        lambda v, t: (
            f"{v.clock:%b} {v.clock.day:>2} {v.clock:%H:%M:%S} {v.node} "
            f"train-rank@{v.rank}[{v.world.pid(v.rank)}]: {t}"
        ),
    ),
    style(
        "columns",
        "rank node",
        lambda v, t: f"{v.clock:%H:%M:%S} | {v.node:<14} | R{v.rank:<4} | {v.level:<7} | {t}",
    ),
    style(
        "runtime_task",
        "rank",
        lambda v, t: (
            f"{v.clock:%Y-%m-%d %H:%M:%S.%f}: {v.level[0]} runtime/host_loop.cc:412] "
            f"[task:{v.rank}] {t}"
        ),
    ),
)

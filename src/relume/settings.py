"""What can be configured: each setting with its unit, its default and why.

The words under a setting are its documentation: they go into `relume config schema` and into
`docs/configuration.md`. `relume.config` says where the values come from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

FOLDER_SETTINGS = frozenset(
    {
        "rules.folders",
        "metrics.names",
        "metrics.token_file",
        "metrics.ca_file",
        "alerts.token_file",
        "alerts.slack_url_file",
        "alerts.heartbeat_url_file",
        "benchmarks.results_folder",
        "controller.folder",
        "controller.ca_file",
        "serve.folder",
        "serve.ledger_password_file",
        "serve.ledger_ca_file",
        "serve.tls_cert_file",
        "serve.tls_key_file",
        "serve.control_token_file",
        "serve.label_token_file",
        "serve.read_token_file",
        "serve.ingest_token_file",
        "serve.log_roots",
        "serve.kernel_logs",
    }
)
"""Relative ones start at the folder of the file that sets them."""


def _known_zone(name: str) -> str:
    # UTC needs no zone database, which small containers don't have.
    if name != "UTC":
        try:
            ZoneInfo(name)
        except (OSError, ValueError, LookupError) as error:
            raise ValueError("UTC or an IANA zone such as Europe/Paris") from error
    return name


def _linear_time(pattern: str) -> str:
    import re2  # noqa: PLC0415 - 20 ms that only a configured pattern has to pay

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode()
        raise ValueError(f"an RE2 expression, without lookaround ({reason})") from error
    return pattern


def _without_password(url: str) -> str:
    if PASSWORD.search(url):
        raise ValueError(
            "a URL without a password: write it into a file, and name that as "
            "serve.ledger_password_file"
        )
    return url


PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@")
"""A user and password in a URL; the first group is the user."""
FolderPath = Annotated[str, Field(min_length=1)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")]
Pattern = Annotated[str, Field(min_length=1), AfterValidator(_linear_time)]


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class ClusterSettings(_Section):
    """The cluster that is being watched."""

    name: str = Field(default="local", pattern=r"^[^/@\s]{1,100}$")
    """Slurm's `ClusterName`, a part of every attempt's identity.

    The default suits one machine and logs without a cluster. Job ids are unique only within one
    cluster: give every cluster that shares a data folder its own name, and don't change it later,
    or old attempts count as another cluster's."""

    timezone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    """The zone of clocks that print none, as an IANA name.

    Slurm and most frameworks print local time without a zone; UTC is the default since most
    clusters run on it, and since it has no hour that comes twice. A wrong zone moves those lines
    by whole hours against lines with a zone, and silences and joins with kernel logs come out
    wrong."""


class DiagnoseSettings(_Section):
    """How sure a verdict must be, and how much it shows."""

    confidence_threshold: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    """The confidence (0 to 1) below which a verdict is *unknown*.

    The default asks for more likely than not. Raising it abstains more often and is wrong less
    often; lowering it answers more often, down to 0, which answers always. Confidence is calibrated
    (`docs/confidence.md`): of verdicts at 0.9 about nine in ten have the right kind. More than 0.97
    is never claimed, so above that everything is unknown."""

    max_evidence: int = Field(default=12, ge=0)
    """How many lines of evidence a verdict lists at most.

    The default fits a terminal. Raising it shows more of a cascade; lowering it shortens records.
    The verdict itself doesn't change."""

    max_mentions: int = Field(default=200, ge=0)
    """How many mentions of nodes, ranks, GPUs and NICs a verdict lists at most.

    The default lists every rank of a job of 25 nodes with 8 GPUs each. Raising it makes records of
    large jobs longer; lowering it drops the later mentions. The verdict itself doesn't change."""

    lake: str = ""
    """The lake whose healthy attempts tell which lines are usual, where a command names no lake.

    Of an attempt of which nobody knows why it failed, the lines are shown that no rule knows and no
    healthy attempt printed. By default it is empty: only the attempt itself tells what is usual."""


class ProgressSettings(_Section):
    """How jobs show that they advance."""

    patterns: Annotated[tuple[Pattern, ...], Field(strict=False)] = ()
    r"""Expressions for progress lines of your own, tried before the built-in formats.

    RE2 syntax, searched in each line; a named group `step` reads the step, for example
    `'round (?P<step>\d+) done'`. None are needed for common frameworks, hence the empty default. An
    expression that matches lines of a job that doesn't advance hides a hang."""


class RulesSettings(_Section):
    """Rules beside the built-in catalogue."""

    folders: Annotated[tuple[FolderPath, ...], Field(strict=False)] = ()
    """Folders of signature rules of your own (TOML), read after the built-in ones.

    Relative folders start at the folder of the configuration file; from the environment or a flag,
    at the working folder. More rules make start-up slower, and scanning only if they match often.
    `relume rules test` checks them."""


class MetricsSettings(_Section):
    """Metrics of nodes, GPUs and NICs, and the Prometheus that has them."""

    names: Annotated[tuple[FolderPath, ...], Field(strict=False)] = ()
    """Files that extend the table of names (TOML, `docs/metrics.md`).

    None by default: DCGM's and node-exporter's names are known. A name that is there already gets
    your entry, so a wrong scale in it makes wrong values."""

    token_file: str = ""
    """A file that holds a bearer token for Prometheus.

    Empty, the default, sends none. It is read anew for each import and should be readable by its
    user only."""

    ca_file: str = ""
    """Certificates (PEM) that Prometheus' own is checked against.

    Empty, the default, takes those of the system. There is no setting that checks nothing."""

    timeout_seconds: float = Field(default=60.0, ge=1, le=600)
    """How long one answer of Prometheus may take, from the question to its last byte.

    Prometheus is told to give up a little earlier; what it can't answer in that time is asked for
    in smaller pieces. Lower notices a dead server sooner, and asks a slow one more often."""


class ServeSettings(_Section):
    """How `relume serve` reads live jobs, and what it says of them."""

    listen: str = Field(default="127.0.0.1:8470", pattern=r"^(\[[0-9a-fA-F:.]+\]|[^\s:]+):\d{1,5}$")
    """Address and port of the HTTP API.

    Loopback by default: whoever reaches it may read. Elsewhere it needs `control_token_file` and
    `read_token_file`, and it should have `tls_cert_file` and `tls_key_file`."""

    host_names: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Names by which requests may call a service that listens on loopback.

    Its own addresses and `localhost` always are; name those under which a proxy in front of it is
    known. Others are refused, since a page from elsewhere whose name is made to point here comes
    with them."""

    allow_open_reads: bool = False
    """Whether everybody who reaches an address that isn't loopback may read, without a token.

    False, the default, refuses to start there without `read_token_file`: log lines and the names of
    users and jobs are in what is read."""

    tls_cert_file: str = ""
    """The certificate, with its chain, in PEM; then the API speaks https only.

    Empty, the default, speaks http. A renewed certificate is read at the next start."""

    tls_key_file: str = ""
    """The key of `tls_cert_file`, in PEM.

    Empty by default, as the certificate is; the two come together. It must not be readable by
    everybody on the machine."""

    folder: FolderPath = "/var/lib/relume/serve"
    """The data folder: the lake, the Advice ledger, and tokens.

    On a local disk, since SQLite's journal breaks on network filesystems. Losing it loses what was
    seen and decided, but no job."""

    ledger_url: Annotated[
        str,
        Field(pattern=r"^$|^sqlite:///.|^(mysql|mariadb)\+pymysql://"),
        AfterValidator(_without_password),
    ] = ""
    """The database of the Advice ledger.

    Empty, the default, is the SQLite file `ledger.db` in the folder, which is all that one service
    needs. `mysql+pymysql://USER@HOST/DATABASE` is one on MariaDB (from 10.6) or MySQL (from 8.0),
    which several services may share and a site backs up with the rest. With
    `?unix_socket=/run/mysqld/mysqld.sock` at its end it is reached on this machine. While it is
    away nothing is judged, and nothing is lost. A password doesn't belong in it."""

    ledger_password_file: str = ""
    """A file whose first line is the password of the ledger's database.

    Empty, the default, sends none, which an account that is known by its unix socket needs. It must
    not be readable by everybody."""

    ledger_ca_file: str = ""
    """Certificates (PEM) that the certificate of the ledger's server is checked against.

    Empty, the default, checks nothing, which is enough on the same machine only. With it the
    connection has TLS, or there is none."""

    control_token_file: str = ""
    """A file with the tokens of role *control*, one a line, as they are or hashed.

    Empty, the default, uses `control.token` in the folder, and makes it at the first start. The
    controller needs the same one: `controller.token_file`. `relume config token` makes tokens."""

    label_token_file: str = ""
    """A file with the tokens of role *label*: they say whether Advice was right, and read.

    Empty, the default: only role *control* may label. With it, people need no token that could stop
    jobs."""

    read_token_file: str = ""
    """A file with the tokens of role *read*.

    Empty, the default, lets everybody read who reaches the service; that is the machine itself
    unless `listen` says otherwise."""

    ingest_token_file: str = ""
    """A file with the tokens of role *ingest*: they push telemetry, and do nothing else.

    Empty, the default, uses `ingest.token` in the folder, and makes it at the first start."""

    log_roots: Annotated[tuple[FolderPath, ...], Field(strict=False)] = ()
    """Folders below which the output files of jobs are read.

    A job chooses the path of its output, so nothing outside is opened, nor a file of another user
    than the job's. Name the shared filesystems that jobs write to; a job that writes elsewhere
    shows no progress and no failure, and its logs count as unhealthy. Empty, the default: no file
    of a job is read, only what is pushed."""

    kernel_logs: Annotated[tuple[FolderPath, ...], Field(strict=False)] = ()
    """Kernel logs of the nodes, as paths with `{node}` for the node's name.

    For example `"/var/log/hosts/{node}/kern.log"`, where a log server puts them. They are read for
    the nodes of running jobs. None by default; without them no node is excluded for a GPU that only
    the kernel saw fail."""

    mode: Literal["monitor", "approve", "act"] = "monitor"
    """What may come of Advice.

    `monitor`, the default: it is written down and nobody carries it out, so that a cluster sees
    what Relume would do. `approve`: it waits for a person (`relume advice approve`, the API, the
    page) until it expires, and a controller in mode act carries out what was approved. `act`: a
    controller in mode act may carry it out, on jobs that opted in."""

    settle_seconds: float = Field(default=10.0, ge=0, le=3600)
    """How long after the first sign of a failure more evidence is waited for, at most.

    Nodes are excluded and jobs released only after it, or when the ended job's log was read to its
    end. Raising it delays restarts; lowering it misses what kernel and scheduler say late."""

    poll_slurm: bool = False
    """Whether the service asks Slurm itself what runs, while no controller tells it.

    For clusters that only want to be watched: `squeue` and `scontrol` must be there, and run every
    ten seconds; `controller.slurm_conf` counts. As soon as `relume control` sends snapshots, and
    until a minute after the last one, the service doesn't ask.
    Accounting (`sacct`) says how attempts ended that Slurm forgot, or requeued, between two looks;
    without it that stays unknown."""

    compact_seconds: float = Field(default=600.0, ge=0, le=86400)
    """How often small segments of the lake are merged into large ones.

    Each commit, of which there may be twenty a second, is a file a table. Rarely means more small
    files, which queries and restarts have to open; 0 leaves it to `relume lake compact`. It is done
    beside everything else, at a low priority."""

    tick_seconds: float = Field(default=1.0, ge=0.1, le=10)
    """How often logs are looked at and jobs judged.

    The default finds a failure within about a second. Higher asks the filesystem less often, which
    thousands of logs on a slow one may need; each second adds to the time to the first Advice."""

    state_seconds: float = Field(default=300.0, ge=0, le=86400)
    """How often what is known of running jobs is kept on disk, beside when the service stops.

    A restart reads it and judges again only what landed since; without one it judges again all
    that running jobs wrote, which may take minutes. Lower makes that less after a crash, and costs
    a process of its own more often. 0 keeps none."""


class AlertsSettings(_Section):
    """Whom `relume serve` tells of incidents. `docs/alerts.md` describes what is sent."""

    alertmanager_urls: Annotated[tuple[Url, ...], Field(strict=False)] = ()
    """Where Alertmanagers are, such as `"http://127.0.0.1:9093"`; all of a cluster of them.

    None by default, so nobody is called. They also get an alert that always fires while Relume
    watches: its end means that nobody does."""

    webhook_urls: Annotated[tuple[Url, ...], Field(strict=False)] = ()
    """Addresses to which each message is posted as JSON.

    None by default. They stand in the configuration as they are: an address that is a secret itself
    belongs into `slack_url_file`, if it takes that form."""

    slack_url_file: str = ""
    """A file with the address of an incoming webhook of Slack, not readable by everybody.

    Empty, the default, tells nobody there. Mattermost and others understand the same form. The
    address is a secret, so it stands in a file of its own and in no message of ours."""

    heartbeat_url_file: str = ""
    """A file with an address that is asked for each minute, not readable by everybody.

    Only while jobs are watched and the scheduler is heard; who runs it calls somebody when that
    ends. Empty, the default: none."""

    token_file: str = ""
    """A file with the bearer token for Alertmanagers and webhooks, not readable by everybody.

    Empty, the default, sends none. All of them get the same one: name none that isn't yours to
    trust with it."""

    least_level: Literal["info", "warning", "critical"] = "warning"
    """The lowest level that is told.

    `info`: suspicions too; `warning`, the default: what is wrong, though nothing is to be done;
    `critical`: only what is to be restarted, stopped, held, or kept from jobs."""

    cooldown_seconds: float = Field(default=300.0, ge=0, le=86400)
    """How long nothing more is told of an attempt or node after a message about it.

    What matters more, and that it is over, is told at once. Lower repeats what flaps."""

    service_url: str = Field(default="", pattern=r"^(https?://[^\s?#]+)?$")
    """The service as people reach it, such as `"https://relume.example"`, for links in messages.

    Empty, the default, leaves links out: what `serve.listen` says is seldom what a browser
    elsewhere can reach."""


class HangSettings(_Section):
    """When a job that shows no step is called hung. `docs/hang.md` describes the rules."""

    false_alarms_per_job_day: float = Field(default=0.01, gt=0, le=1, allow_inf_nan=False)
    """How many hangs of healthy jobs are accepted in a job-day.

    At 0.01, a job that nobody knows yet may be silent for 300 s before anything is done: a first
    checkpoint that says nothing of itself is hardly ever longer. Raising it finds hangs of such
    jobs sooner (155 s at 0.1) and takes more pauses for one; 0.001 waits for 510 s. Jobs whose
    pauses are known from earlier attempts are found sooner, whatever it says."""

    actionable_seconds: float = Field(default=90.0, ge=30, le=86400)
    """The least time without a new step that is called a hang of a job whose pauses are known.

    It must also be 1.5 times the longest ever seen in that job and its family. Lower finds hangs
    sooner where pauses vary little; higher spares jobs whose steps stall for a minute."""

    suspicion_seconds: float = Field(default=30.0, ge=10, le=3600)
    """The least time without a new step after which evidence is asked for.

    It must also be three times the usual gap. A suspicion changes nothing; it asks for what is
    lost when a collective times out (600 s for PyTorch). Lower asks more often in vain."""

    suspicions_per_day: float = Field(default=24.0, ge=0, allow_inf_nan=False)
    """How many suspicions of one job may come to nothing in a day.

    Beyond it only a silence longer than all before is suspected. At 0 that is so from the start."""


class StragglerSettings(_Section):
    """When a job whose steps go on is called slow. `docs/straggler.md` describes the rules."""

    false_alarms_per_job_day: float = Field(default=0.01, gt=0, le=100, allow_inf_nan=False)
    """How many slowdowns of healthy jobs are accepted in a job-day.

    At 0.01 a slowdown of a fifth is found after twelve steps. A tenth of it takes two steps more,
    ten times as many two steps less. It is promised as far as the steps of a job look like the
    thousand that calibrate it."""

    effect_ratio: float = Field(default=0.05, ge=0, le=10, allow_inf_nan=False)
    """The share by which steps must take longer to be slow at all.

    The default passes over what the heat of the day does to clocks. Lower finds smaller losses, and
    takes daily cycles for slowdowns; higher spares jobs whose steps vary by themselves."""

    false_share: float = Field(default=0.1, gt=0, lt=1, allow_inf_nan=False)
    """Which share of the slowdowns that hold across jobs may be false, on average.

    `relume backtest` says of each whether it holds; Advice is the same either way. With less, a
    slowdown has to confirm itself more often before it holds."""

    suspicions: bool = False
    """Whether a slowdown is told as soon as a few steps show it.

    Advice with rule `slow_steps_suspected` then comes after half a minute instead of a minute and a
    half, and keeps no budget. Nothing is done about either."""


class LakeSettings(_Section):
    """What was read and is kept."""

    keep_days: int = Field(default=0, ge=0)
    """How long `relume lake prune` keeps what landed, in days from its commit on.

    At 0, the default, everything is kept, since what was read may be the only copy. A number gives
    disk space back; older failures can't be looked at or replayed any more then."""


class PolicySettings(_Section):
    """The site's limits on what is advised; a job's comment may only tighten them."""

    preset: Literal["cautious", "standard", "aggressive"] = "standard"
    """The limits that hold where this section names none: the defaults below are *standard*'s.

    `cautious` tries once, leaves out one node, and holds jobs that fail together sooner;
    `aggressive` tries up to eight times, four times a day, and leaves out four nodes. The page
    docs/policy.md has them side by side."""

    max_restarts: int = Field(default=3, ge=0)
    """How many tries a run gets.

    A try that came further than all before doesn't count. At 0 nothing is restarted."""

    identical_failures: int = Field(default=2, ge=2)
    """The how-many-th failure in a row, of one kind and without progress, stops a run.

    It is for failures of the job's own code. Raising it wastes tries on a bug; 2 is the least."""

    exclusion_cap: int = Field(default=2, ge=0)
    """How many nodes may be left out for one failure.

    Raising it lets a wrong diagnosis take more nodes from a job; at 0 no node is left out."""

    window_restarts: int = Field(default=0, ge=0)
    """How many tries a run gets within `policy.window_seconds`. At 0, the default, any.

    It is for runs that get many tries in all, so that a fault that stays doesn't use them up in a
    day."""

    window_seconds: int = Field(default=86_400, ge=1)
    """Over how long `policy.window_restarts` counts.

    The default is a day. A shorter one forgives sooner, and lets a fault that stays use up more."""

    partition_cap: float = Field(default=0.05, ge=0, le=1)
    """Which share of a partition's nodes may be left out at once, over all jobs; one node always.

    Raising it lets a wrong diagnosis of many jobs take more nodes from a partition; at 0 one node
    is left out at a time."""

    breaker_jobs: int = Field(default=5, ge=2)
    """How many jobs that fail together are one incident of the cluster.

    They are held instead of restarted, since they would fail by it again. A lower number holds jobs
    that failed together by chance."""

    breaker_share: float = Field(default=0.25, gt=0, le=1)
    """Which share of the running jobs that has to be, beside `policy.breaker_jobs`.

    It keeps large clusters, in which some jobs always fail, from being held. At 1 all have to
    fail."""

    breaker_seconds: float = Field(default=600.0, gt=0)
    """Within how long jobs have to fail to have failed together.

    And how long it has to be calm before held jobs are let go. A longer time sees what spreads
    slowly as one incident, and more of what is chance."""

    useful_seconds: float = Field(default=600.0, ge=0)
    """How long a restart has to be able to work before the job's deadline.

    With less, its nodes are worth more to others. What the queue and the start take doesn't
    count."""

    hold_seconds: int = Field(default=1800, ge=1)
    """How long a job is held when nobody can tell yet what to do, before it is let go.

    The default gives people half an hour to look. A longer hold keeps a job from running on after a
    fault that has passed; a shorter one restarts it into a fault that has not."""

    advice_seconds: int = Field(default=3600, ge=1)
    """How long Advice may be carried out; afterwards things have changed too much.

    The default outlasts a controller that is away for some minutes. A longer time lets a controller
    that comes back late restart jobs that people have dealt with meanwhile."""

    numeric: Literal["observe", "hold", "stop"] = "observe"
    """What is advised of an attempt that failed for its numbers: NaN, a loss scale that gave up.

    `observe`, the default, only reports it with its first bad step: whether such a run is lost, its
    owner knows best. `hold` keeps the next attempt from starting until somebody has looked; `stop`
    lets there be none. A job that still runs is left alone whatever this says."""


class QuarantineSettings(_Section):
    """Which nodes are advised to be kept from jobs. `docs/nodes.md` describes it."""

    cap: float = Field(default=0.02, ge=0, le=1)
    """Which share of the nodes may be held at once.

    Beyond it the riskiest are held, and the report says that there is no room. In the public trace
    0.02 avoids 23 % of the faults, 0.044 avoids 28 %. A small cluster needs more to hold one."""

    min_faults: int = Field(default=2, ge=1)
    """How many faults within `quarantine.window_days` hold a node.

    They are of hardware or network, by a line of a kernel or of slurmctld, or by a health check.
    At 1 a node is held after its first fault."""

    window_days: float = Field(default=90.0, gt=0)
    """How long a fault counts against its node.

    A longer time remembers faults that come rarely, and holds nodes for what was mended long
    ago."""

    parole_days: float = Field(default=30.0, gt=0)
    """After how many days a node is let go at the latest.

    The risk that it fails again falls as one over the days since its last fault: a longer hold
    avoids few faults for many node-days."""


class ControllerSettings(_Section):
    """How `relume control` and `relume watchdog` deal with Slurm."""

    mode: Literal["observe", "act"] = "observe"
    """Whether Slurm may be changed.

    `observe`, the default, changes nothing and says what it would do, so that a cluster sees that
    before it lets Relume do anything; `act` carries Advice out."""

    partitions: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)] = ()
    """The partitions in which jobs may be touched.

    Empty by default, which allows none: mode `act` asks for a list; `["*"]` allows all. A job that
    waits in several partitions is touched only when each of them is in the list."""

    service: str = Field(default="http://127.0.0.1:8470", pattern=r"^https?://[^\s/?#]+$")
    """Address of `relume serve`, without a path.

    The default is the service's own, on the same machine. Elsewhere it should be https: the
    control token goes along with every request."""

    token_file: str = ""
    """A file that holds the token of role *control*.

    Empty, the default, sends none, and the service then refuses what the controller hands over:
    without a token nobody may change anything, least of all where the service itself has none. The
    file is read at the start, and it should be readable by the controller's user only."""

    ca_file: str = ""
    """Certificates (PEM) that the service's own is checked against, where it speaks https.

    Empty, the default, takes the usual ones. There is no setting that checks nothing."""

    slurm_conf: str = ""
    """What `SLURM_CONF` is for Slurm's commands; empty leaves it to the environment.

    A copy of slurm.conf with a small `MessageTimeout` makes them fail in a second instead of nine
    while slurmctld is away."""

    folder: FolderPath = "/var/lib/relume/controller"
    """The folder of the journal, the heartbeat, and what the EpilogSlurmctld helper reads.

    On a local disk: SQLite's journal breaks on network filesystems. The helper runs where slurmctld
    runs and has to reach `epilog/` in it as SlurmUser. Don't lose it: a hold that nobody remembers
    is nobody's."""

    interval_seconds: float = Field(default=10.0, ge=0.1, le=600)
    """How often Slurm is looked at while nothing is to be done.

    Lower notices sooner that a job started or died, and asks slurmctld more often (one listing of
    jobs and nodes each time)."""

    busy_interval_seconds: float = Field(default=2.0, ge=0.1, le=600)
    """How often Slurm is looked at while Advice waits for its next step, or is about to come.

    Lower restarts jobs sooner, at most by its own length; on a large cluster with many failures it
    may become what slurmctld is asked most."""

    log_wait_seconds: float = Field(default=30.0, ge=0, le=3600)
    """How long a release waits for the end of the failed attempt's log.

    The next attempt truncates the log; what came too late by then is recorded as missing evidence.
    Raising it delays restarts when the filesystem is slow; with 0 evidence gets lost."""

    stop_grace_seconds: float = Field(default=30.0, ge=0, le=3600)
    """How long a job that is to be stopped may end by itself before it is cancelled.

    A job that ends by itself stays FAILED, a cancelled one shows CANCELLED. Raising it wastes the
    time of its nodes."""

    orphan_hold_seconds: float = Field(default=900.0, ge=1)
    """How long a hold of ours lasts that no Advice asks for, before it is taken off.

    It leaves the service time to come back and decide. Lower lets jobs go undiagnosed sooner after
    a failure of Relume itself."""

    max_hold_seconds: float = Field(default=7200.0, ge=1)
    """How long a job may be held on Relume's word, whatever the Advice says; then it is let go.

    Above the longest Advice of the policy (an hour). It guards against a service that names
    deadlines of next year. Lower may let a job start on a node that still doesn't answer."""

    max_excluded_nodes: int = Field(default=4, ge=0)
    """How many nodes may be excluded for one job on Relume's word, over all its restarts.

    A second limit beside the policy's: a wrong service must not be able to empty a cluster. At 0
    no node is ever excluded, and such Advice is abandoned."""

    max_actions_per_hour: int = Field(default=60, ge=0)
    """How many attempts may be restarted or stopped within an hour; further ones wait.

    It guards against a service that sees failures everywhere. Raise it where many small jobs run;
    at 0 nothing is done."""

    max_restarts_per_day: int = Field(default=20, ge=0)
    """How often one job may be restarted within 24 hours, whatever the Advice says.

    The policy counts tries without progress and stops much earlier; this ends a loop that it can't
    see. Beyond it the job stays as it is."""

    gone_seconds: float = Field(default=300.0, ge=10)
    """When the watchdog takes the controller for gone: so long without a whole round.

    A round is whole when the service answered and the lease was held. From then on the watchdog
    lets held jobs go. Keep it several times `interval_seconds`."""


class BenchmarksSettings(_Section):
    """Where the benches keep their results."""

    results_folder: FolderPath = "benchmarks/results"
    """The folder that `relume bench run` stores results in.

    Relative as for `rules.folders`; the default is that of a source checkout, from whose root
    benches are run."""


class Settings(_Section):
    """All settings of Relume; each has a default, so no file is needed."""

    cluster: ClusterSettings = ClusterSettings()
    diagnose: DiagnoseSettings = DiagnoseSettings()
    progress: ProgressSettings = ProgressSettings()
    rules: RulesSettings = RulesSettings()
    metrics: MetricsSettings = MetricsSettings()
    serve: ServeSettings = ServeSettings()
    alerts: AlertsSettings = AlertsSettings()
    hang: HangSettings = HangSettings()
    straggler: StragglerSettings = StragglerSettings()
    lake: LakeSettings = LakeSettings()
    policy: PolicySettings = PolicySettings()
    quarantine: QuarantineSettings = QuarantineSettings()
    controller: ControllerSettings = ControllerSettings()
    benchmarks: BenchmarksSettings = BenchmarksSettings()


SECTIONS: Mapping[str, type[BaseModel]] = {
    name: type(field.default) for name, field in Settings.model_fields.items()
}
"""The model of each section of the file."""

DEFAULTS: Mapping[str, object] = {
    f"{section}.{key}": field.default
    for section, model in SECTIONS.items()
    for key, field in model.model_fields.items()
}
"""Every setting that exists, as ``section.key``, with its default."""


def variable(name: str) -> str:
    """Return the environment variable of a ``section.key``.

    Examples
    --------
    >>> variable("diagnose.max_evidence")
    'RELUME_DIAGNOSE__MAX_EVIDENCE'
    """
    return f"RELUME_{name.replace('.', '__').upper()}"


def to_toml(value: object) -> str:
    r"""Return a setting's value as TOML, on one line.

    Examples
    --------
    >>> print(to_toml(("a", 'b"c')))
    ["a", "b\"c"]
    """
    # JSON's strings and lists are TOML's, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_INTRODUCTION = """\
<!-- Made from src/relume/settings.py. To make it again:
python -c "import relume.settings as s; print(s.reference(), end='')" > docs/configuration.md -->

# Configuration

Relume works without a configuration. What you want otherwise goes into one TOML file, the first of:

1. the file that `--config` names,
2. the file that the environment variable `RELUME_CONFIG` names,
3. `relume.toml` in the working folder,
4. `/etc/relume/relume.toml`.

A flag of the command line wins over an environment variable, that over the file, and the file over
the default. In the environment a setting is called `RELUME_SECTION__KEY` (two underscores); texts
are given as they are, anything else as in TOML: `RELUME_RULES__FOLDERS='["/etc/relume/rules"]'`. A
name that no setting has is an error, which names the nearest one.

`relume config check` reads the file and says what is wrong with it, `relume config show --origin`
prints every value and where it comes from, `relume config schema` prints a JSON Schema for editors.
This is a file with all defaults:
"""


def reference() -> str:
    """Return the text of ``docs/configuration.md``: every setting, its default and its words."""
    parts = [_INTRODUCTION, f"```toml\n{to_document(DEFAULTS)}```\n"]
    for section, model in SECTIONS.items():
        parts.append(f"## {section}\n\n{model.__doc__}\n")
        for key, field in model.model_fields.items():
            name = f"{section}.{key}"
            default = f"Default `{to_toml(field.default)}`, environment `{variable(name)}`."
            parts.append(f"### {name}\n\n{default}\n\n{field.description}\n")
    return "\n".join(parts)


def to_document(values: Mapping[str, object], origins: Mapping[str, str] | None = None) -> str:
    """Return a TOML file with `values` (by ``section.key``), and origins as comments if given.

    Examples
    --------
    >>> print(to_document({"diagnose.max_evidence": 3}, {"diagnose.max_evidence": "flag"}), end="")
    [diagnose]
    max_evidence = 3  # flag
    """
    lines: list[str] = []
    for section in SECTIONS:
        names = [name for name in values if name.startswith(f"{section}.")]
        if names:
            lines += ["", f"[{section}]"]
        for name in names:
            comment = f"  # {origins[name]}" if origins else ""
            lines.append(f"{name.removeprefix(f'{section}.')} = {to_toml(values[name])}{comment}")
    return "\n".join(lines[1:]) + "\n"

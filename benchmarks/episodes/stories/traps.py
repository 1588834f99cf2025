"""Accidents whose obvious reading is wrong: many nodes by one mistake, one rank by nobody's fault."""

from __future__ import annotations

from relume.benchmarks.episodes.endings import ended, peers_lost, timeouts
from relume.benchmarks.episodes.script import Script
from relume.benchmarks.episodes.stories.story import Story, trains, truth, victims_wait


def _one_stage(s: Script) -> None:
    """The ranks of one pipeline stage, on some of the nodes, make the same mistake."""
    world = s.world
    trains(s)
    truth(s, "crash", "workload")
    half = len(world.nodes) // 2
    stage = [r for node in world.nodes[half:] for r in world.ranks_of(node)]
    error = s.say(
        [
            "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4095) at non-singleton "
            "dimension 1",
            "AssertionError: labels must not be None on the last pipeline stage",
        ],
        [
            "pipeline.StageError: stage 1 got a micro-batch without labels",
            "jax.errors.UnexpectedTracerError: loss head saw a leaked tracer",
        ],
        slot="one_pipeline_stage",
    )
    for rank in stage:
        s.exception(rank, error, after=s.rng.uniform(0, 2), root=True)
    s.wait(2, 4)
    peers_lost(s, [r for r in range(world.ranks) if r not in stage], lost=stage[0])
    ended(s, s.rng.choice(stage), code=1, pointer=False)


def _two_nodes(s: Script) -> None:
    """A mount is missing on two of many nodes."""
    s.wait(2, 6)
    world = s.world
    first, second = sorted(s.rng.sample(world.nodes[1:], 2), key=world.nodes.index)
    truth(s, "crash", "platform", node=first, exclude=True)
    s.truth.also_nodes = (second,)
    mine = [*world.ranks_of(first), *world.ranks_of(second)]
    error = s.say(
        ["FileNotFoundError: [Errno 2] No such file or directory: '/mnt/data/vocab.json'"],
        ["tokenizers: vocabulary /mnt/data/vocab.json is not there (ENOENT)"],
        slot="mount_missing_on_two_nodes",
    )
    for rank in mine:
        s.exception(rank, error, after=s.rng.uniform(0, 2), root=True)
    s.wait(2, 3)
    peers_lost(s, [r for r in range(world.ranks) if r not in mine], lost=mine[0])
    ended(s, mine[0], code=1)


def _service(s: Script) -> None:
    """A service outside of the cluster does not answer: nobody here is to blame."""
    s.wait(3, 12)
    truth(s, "crash", "platform network workload")
    error = s.say(
        [
            "huggingface_hub.errors.HfHubHTTPError: 503 Server Error: Service Temporarily Unavailable for url: "
            "https://hub.internal/api/models/llm",
            "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://hub.internal/x",
            "botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "
            '"https://s3.internal/bucket"',
        ],
        [
            "google.api_core.exceptions.ServiceUnavailable: 503 The service is currently unavailable.",
            "aiohttp.client_exceptions.ServerTimeoutError: Connection timeout to host https://s3.internal/bucket",
        ],
        slot="service_unavailable",
    )
    ranks = range(s.world.ranks) if s.rng.random() < 0.5 else s.rng.sample(range(s.world.ranks), 3)
    s.truth.also_ranks = tuple(ranks) if len(ranks) <= 3 else ()
    for rank in ranks:
        s.exception(rank, error, after=s.rng.uniform(0, 9), root=True)
    s.wait(9, 10)
    rest = [r for r in range(s.world.ranks) if r not in set(ranks)]
    if rest:
        peers_lost(s, rest, lost=ranks[0])
    ended(s, ranks[0], code=1, pointer=False)


def _dies_silently(s: Script) -> None:
    """A process is gone without a word: only the launcher tells which, and by which signal."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "crash", "unknown workload platform hardware", rank=rank)
    s.truth.exit_code = "139:0"
    peers_lost(s, s.others(rank), lost=rank)
    s.now -= 2.0
    before = len(s.records)
    ended(s, rank, code=s.rng.choice((-11, -7, -6)))
    for record in s.records[before:]:
        if record.tells:
            record.roots = _first_failure(record.text.split("\n"))
        elif "failed (exitcode:" in record.text:
            record.roots = (0,)


def _first_failure(lines: list[str]) -> tuple[int, ...]:
    """Lines in which a launcher speaks of the first failure: of a block, what is below its head."""
    head = next((n for n, line in enumerate(lines) if line.startswith("Root Cause")), 0)
    return tuple(n for n, line in enumerate(lines) if n >= head and len(line.strip("=- ")) > 10)


def _first_rank(s: Script) -> None:
    """Rank 0 does what only rank 0 does, and fails of it; the others time out at a barrier."""
    trains(s)
    truth(s, "crash hang", "workload", rank=0)
    s.exception(
        0,
        s.say(
            [
                "RuntimeError: stack expects each tensor to be equal size, but got [17] at entry 0 and [19] at entry 1",
                "TypeError: Object of type float32 is not JSON serializable",
            ],
            [
                "evaluate.MetricError: references and predictions differ in length",
                "mlflow.MlflowException: bad run",
            ],
            slot="first_rank_fails",
        ),
        frames=(
            ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
            ("/workspace/evaluate.py", 52, "report", "if rank == 0: write(metrics)"),
        ),
        root=True,
    )
    if s.rng.random() < 0.5:
        timeouts(s, s.others(0), op="BROADCAST", seconds=300)
    else:
        peers_lost(s, s.others(0), lost=0)
    ended(s, 0, code=1)


def _nan_on_one(s: Script) -> None:
    """One rank's gradients are not finite: numbers, perhaps a chip; nobody is left out for it."""
    last = trains(s)
    rank = s.world.some_rank()
    truth(s, "numeric crash", "workload hardware unknown", also=(rank,))
    s.exception(
        rank,
        s.say(
            [
                "RuntimeError: found NaN in local grad norm in backward pass before data-parallel communication "
                f"collective. Device: {s.world.local(rank)}, node: {s.world.node_of(rank)}",
            ],
            [
                f"train.guard: local gradients of rank {rank} are inf at update {last}; all other ranks are finite"
            ],
            slot="not_finite_on_one_rank",
            rank=rank,
            step=last,
        ),
        root=True,
    )
    s.wait(1, 2)
    peers_lost(s, s.others(rank), lost=rank)
    ended(s, rank, code=1, pointer=False)


def _master_gone(s: Script) -> None:
    """Nobody reaches the first node, whose own ranks say nothing."""
    s.wait(2, 5)
    node = s.world.nodes[0]
    truth(s, "crash hang", "platform network hardware", node=node, exclude=True)
    mine = set(s.world.ranks_of(node))
    text = s.say(
        [
            f"torch.distributed.DistNetworkError: The client socket has timed out after 900000ms while trying to "
            f"connect to ({node}, 29500).",
        ],
        [
            f"jax distributed: DEADLINE_EXCEEDED: coordination service at {node}:8476 cannot be reached",
            f"RuntimeError: no answer from coordinator {node} within 900 s",
        ],
        slot="first_node_unreachable",
    )
    s.wait(900)
    for rank in [r for r in range(s.world.ranks) if r not in mine]:
        s.exception(rank, text, after=s.rng.uniform(0, 5), root=True, tells={"node"})
    s.wait(6)
    ended(s, max(mine) + 1, code=1, pointer=False)


def _late_wave(s: Script) -> None:
    """A rank has died of its own mistake; its words come after thousands of lines of the others."""
    trains(s)
    rank = s.world.some_rank()
    truth(s, "crash", "workload", rank=rank)
    at = s.now
    victims_wait(s, rank)
    end, s.now = s.now, at
    s.exception(
        rank,
        s.say(
            [
                "RecursionError: maximum recursion depth exceeded",
                "ValueError: Sample larger than population",
            ],
            [
                "curriculum.BadPhase: phase 3 has no weight",
                "sentencepiece: OutOfVocabulary: id 128256",
            ],
            slot="cause_at_the_end",
        ),
        root=True,
        late=end - at + 3,
    )
    s.now = end + 4
    ended(s, rank, code=1)


STORIES = (
    Story("one_pipeline_stage", _one_stage, 4),
    Story("mount_missing_on_two_nodes", _two_nodes, 8),
    Story("service_unavailable", _service, 2),
    Story("process_dies_silently", _dies_silently, 2),
    Story("first_rank_fails", _first_rank, 2),
    Story("not_finite_on_one_rank", _nan_on_one, 2),
    # With two nodes there is one accuser, and it may be the one that is cut off.
    Story("first_node_unreachable", _master_gone, 3),
    Story("cause_at_the_end", _late_wave, 2),
)

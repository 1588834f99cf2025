"""Jobs that stand still."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "laggard_named": (
        "step barrier 4021 not complete: 1 participant absent: rank $rank",
        "RuntimeError: DEADLINE: barrier 'ckpt-4021' waits for [rank $rank] only, limit of 900 s passed",
        "stall report: all workers entered step 4021 except rank $rank (its last beat: step 4020)",
    ),
    "laggard_in_subgroup": (
        "rank $rank: subgroup tp($low..$high): op 51233 waits for rank $lost, which stopped at op 51232",
        "HCCL rank[$rank] group[tp_$low-$high] task expired index[51233]: no arrival of rank $lost (its index is 51232)",
    ),
    "stuck_process": (
        "liveness: rank $rank: interpreter lock was not released for 480 s, killing myself",
        "»thread 'watch' panicked at src/live.rs:18:9:\n»rank $rank: main loop did not tick since 480 s",
        "rank $rank: host callback blocked for 480 s inside device sync, aborting own process",
    ),
    "lost_heartbeat": (
        "E agents.go:144] lease of agent $node ran out (ttl 60s), its members are evicted",
        "E membership/raft.py:210] peer $node voted out of the cluster: silent for 3 election rounds",
        "E head/health.cc:91] raylet on $node failed 5 health checks, its actors are dead",
    ),
}

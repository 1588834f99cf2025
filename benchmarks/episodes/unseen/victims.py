"""What ranks and launchers say because another one is gone; and what was cleaned up."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "peers_lost": (
        "RuntimeError: [SYNAPSE] HCL: peer socket to $peer was shut while a collective was in flight",
        "RuntimeError: RCCL watcher: a member of the ring left (last seen peer $peer), tearing the ring down",
        "»terminate called after throwing an instance of 'sycl::_V1::exception'\n"
        "  what():  oneCCL: atl_ofi: cq read failed, remote endpoint $peer closed",
    ),
    "timeouts": (
        "[ERROR] HCCL rank[$rank] task Notify Wait expired: opName[$op] streamIndex[$seq] limit[${seconds}s] finishedIndex[$done] issuedIndex[$queued]",
        "collective guard (rank $rank): op=$op id=$seq still open after ${seconds}s; finished through id=$done, issued through id=$queued",
        "E rendezvous.cc:118] rank $rank has waited ${seconds}s in `$op.$seq` and may be stuck (last one left: $op.$done, last one entered: $op.$queued)",
    ),
    "told_to_dump": (
        "[INFO] HCCL rank[$rank] asked for its trace by rank[$asker]: finishedIndex[$done] issuedIndex[$done]",
        "collective guard (rank $rank): state wanted by rank $asker: finished through id=$done, issued through id=$done",
        "W rendezvous.cc:160] rank $rank is polled by rank $asker: last op left #$done, last op entered #$done",
    ),
    "taken_down": (
        "[ERROR] HCCL rank[$rank] stream is abandoned, process will exit",
        "collective guard (rank $rank): results can't be trusted any more, leaving by abort()",
        "F rendezvous.cc:201] Termination of rank $rank: not everybody arrived in time",
    ),
    "told_to_go": (
        "graceful shutdown: signal 15 caught by rank $rank, finishing the current micro-batch",
        "INFO shutdown hook of rank $rank: SIGTERM, state is flushed",
        "rank $rank: asked to terminate, leaving the loop",
    ),
}

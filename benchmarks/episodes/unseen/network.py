"""What breaks between nodes."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "link_down": (
        "cxi_core 0000:21:00.0: cxi$nic[hsn$nic]: carrier lost (PCS fault, no peer)",
        "ice 0000:31:00.1 roce$nic: PHY: signal detect gone, netdev operstate down",
        "hfi1 0000:4b:00.0: hfi1_$nic: logical link went from ACTIVE to OFFLINE, reason 0x21",
    ),
    "peer_unreachable": (
        "rank $rank: cxi: rdzv get from $target timed out 5 times (peer NIC silent), rc -110",
        "MPIDI_OFI: rank $rank: completion error, remote $target does not ack: Input/output error",
        "HCL rank $rank: QP to $target moved to error, retries used up (nic $nic)",
    ),
    "own_port": (
        "$node rank $rank: libfabric:cxi: local NIC cxi$nic raised fatal event LINK_ERROR, every endpoint is void",
        "$node (rank $rank) RCCL-net: own HCA roce$nic port is gone: all 31 queue pairs flushed",
        "$node: HCL rank $rank: local port $nic entered DOWN while sending, no peers reachable",
    ),
    "links_of_many_nodes": (
        "cxi_core 0000:21:00.0: cxi$nic[hsn$nic]: carrier lost (PCS fault, no peer)",
        "ice 0000:31:00.1 roce$nic: PHY: signal detect gone, netdev operstate down",
        "hfi1 0000:4b:00.0: hfi1_$nic: logical link went from ACTIVE to OFFLINE, reason 0x21",
    ),
    "no_route_to_node": (
        "rank $rank: bootstrap dial tcp $target_address:7777: connect: host is unreachable ($target)",
        "»io.grpc.StatusRuntimeException: UNAVAILABLE: no path to peer $target/$target_address:7777\n\tat train.Bootstrap.join(Bootstrap.java:141)",
        "prte: rank $rank: daemon of $target can't be contacted after 10 attempts: EHOSTUNREACH",
    ),
}

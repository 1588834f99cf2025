"""Accidents whose obvious reading is wrong."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "one_pipeline_stage": (
        "»F\x02%m%d %H:%M:%S.%f\x03 4021 stage.cc:91] Check failed: grads.has_value() stage 1 was handed no loss gradient\n*** Check failure stack trace: ***",
        "RuntimeError: last stage: target tensor has 4095 positions, logits have 4096",
    ),
    "mount_missing_on_two_nodes": (
        "»thread 'main' panicked at src/vocab.rs:12:5:\n»/mnt/data/vocab.json: NotFound (os error 2)",
        "RuntimeError: autofs did not mount /mnt/data on this host, vocabulary can't be read",
    ),
    "service_unavailable": (
        "»panic: etcdserver: request timed out, no leader (https://config.internal:2379)\ngoroutine 1 [running]:\nmain.fetch()",
        "»Caused by: org.apache.http.conn.HttpHostConnectException: Connect to registry.internal:443 failed: 502 from gateway\n\tat net.Client.get(Client.java:31)",
        "minio.error.S3Error: S3 operation failed; code: XMinioServerNotInitialized, message: Server not initialized yet, please try again",
    ),
    "first_rank_fails": (
        "»thread 'report' panicked at src/metrics.rs:140:22:\n»serialize: NaN is not a JSON number in field 'bleu'",
        "app.export.ExportError: validation set has 3 columns, the table wants 4",
    ),
    "not_finite_on_one_rank": (
        "RuntimeError: sanity: only rank $rank (of $ranks) has inf in its gradients at step $step, all others are fine",
        "grad monitor: rank $rank is the single one with NaN partial sums at step $step",
    ),
    "first_node_unreachable": (
        "RuntimeError: head process at $node:29400 did not accept within 900 s",
        "»panic: context deadline exceeded: dial $node:7777\ngoroutine 1 [running]:\nmain.join()",
        "»io.grpc.StatusRuntimeException: UNAVAILABLE: meeting point $node:7077 is not reachable",
    ),
    "cause_at_the_end": (
        "»thread 'mixer' panicked at src/curriculum.rs:33:18:\n»index out of range: phase 3 of 3",
        "app.sampler.WeightsDoNotSumToOne: 0.97",
    ),
}

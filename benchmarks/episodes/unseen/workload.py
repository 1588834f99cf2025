"""The job's own mistakes."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "bad_sample_on_one_rank": (
        "»thread 'tokenizer-3' panicked at src/pack.rs:301:14:\n»document 8812734 of shard 17 has a span that ends before it begins",
        '»Exception in thread "loader-5" org.apache.avro.AvroRuntimeException: Malformed data. Length is negative: -3 (record 8812734)\n\tat data.Shard.next(Shard.java:77)',
        "»simdjson: TAPE_ERROR: The JSON document has an improper structure: line 8812734 of part-17.jsonl",
    ),
    "exception_everywhere": (
        "»F\x02%m%d %H:%M:%S.%f\x03 4021 loop.cc:212] Check failed: heads % tp == 0 (2 vs. 0) attention heads do not split over 6 shards\n*** Check failure stack trace: ***",
        '»Exception in thread "main" java.lang.IllegalArgumentException: micro batch 3 does not divide global batch 512\n\tat train.Plan.check(Plan.java:210)',
        "AssertionError: [Chex] Assertion assert_equal_shape failed: Arrays have different shapes: [(4096, 5120), (4096, 1024)].",
    ),
    "wrong_arguments": (
        "error: unexpected argument '--seq-lenght' found",
        "flag provided but not defined: -seq-lenght",
        "Exception in thread \"main\" picocli.CommandLine$$UnmatchedArgumentException: Unknown option: '--seq-lenght'",
    ),
    "shapes_differ": (
        "RuntimeError: reduce plan: contributions disagree: rank $one offers 262144 elements, rank $another offers 524288 elements",
        "»oneCCL: |CCL_ERROR| coll_check: count mismatch for allreduce: 262144 at rank $one, 524288 at rank $another\nterminate called",
    ),
    "loss_not_finite": (
        "RuntimeError: sanity: cross entropy overflowed to inf at iteration $step, aborting by configuration",
        "RuntimeError: guard: 5 consecutive updates were skipped because of NaN gradients (last: $step), giving up",
        "RuntimeError: loss scaler hit its floor at step $step: every gradient is nan",
    ),
    "device_side_assert": (
        ":0: kernel gather_rows: block (3,0,0) thread (17,0,0): Device-side assertion `row < rows' violated.",
        "»AssertHandler::printMessage\n»Assertion `token_id >= 0 && token_id < vocab_size' failed (global id: [96,0,0], local id: [0,0,0])",
    ),
    "device_side_assert/error": (
        "RuntimeError: HIP error: kernel ran into an assert, queue aborted",
        "RuntimeError: level_zero: kernel gave up through abort() in an assertion",
    ),
    "illegal_access/kernel": (
        "amdgpu $pci.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32780, for process python pid $pid)",
        "xe $pci.0: [drm] GT0: Faulted Address: 0x00007f1c40000000, FaultType: NOT_PRESENT, AccessType: read, python[$pid]",
    ),
    "illegal_access": (
        "»Memory access fault by GPU node-$gpu (Agent handle: 0x$hex) on address 0x7f1c40000000. Reason: Unknown.\nGPU core dump skipped",
        "RuntimeError: level_zero: segfault on device: page not present (kernel fused_rope_bwd)",
        "jax.errors.JaxRuntimeError: INTERNAL: Core halted unexpectedly: bounds check of DMA failed in custom kernel 'paged_attn'",
    ),
    "segmentation_fault/kernel": (
        "traps: python[$pid] general protection fault ip:7f2c1d0e sp:7ffe1a error:0 in libtokenize.so[7f2c1d+9000]",
        "python[$pid]: unhandled exception: SEGV, code 0x1, addr 0x18 in libtokenize.so",
    ),
    "segmentation_fault": (
        "»SIGSEGV: segmentation violation\nPC=0x7f2c1d0e m=4 sigcode=1 addr=0x18\ngoroutine 0 [idle]:",
        "»Process received signal SIGSEGV, invalid address 0x18: backtrace:\n  0# encode_batch in libtokenize.so\n  1# PyEval_EvalFrame",
        "rank process pid $pid: crashed: dereference of a null pointer in libtokenize.so (encode_batch)",
    ),
    "chained_exceptions": (
        "»pyo3_runtime.PanicException: called `Option::unwrap()` on a `None` value: field 'mask' of record 12",
        '»Caused by: java.lang.NumberFormatException: For input string: "n/a"\n\tat data.Row.parse(Row.java:14)',
    ),
    "chained_exceptions/outer": (
        '\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File "/app/main.py", line 71, in <module>\n    run()\n»app.BatchFailed: collate gave up',
        "»ERROR main: batch assembly failed, see above",
    ),
    "collectives_differ": (
        "collective guard (rank $rank): op=$op id=733 still open after 600s",
        "[ERROR] HCCL rank[$rank] task Notify Wait expired: opName[$op] streamIndex[733] limit[600s]",
        "E rendezvous.cc:118] rank $rank has waited 600s in `$op.733` and may be stuck",
    ),
    "exception_written_late": (
        "»thread 'sampler' panicked at src/mix.rs:66:9:\n»attempt to calculate the remainder with a divisor of zero",
        "app.mixture.EmptySource: source 'code' has no document left for this shard",
    ),
}

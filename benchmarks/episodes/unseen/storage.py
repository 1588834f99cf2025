"""Filesystems and disks."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "shared_filesystem_stall": (
        "WekaFS: cluster IO is stalled, no quorum of backends for 180 s, requests are held",
        "pvfs2: server tcp://stor04:3334 timed out, retrying forever",
        "vast-nfs: all 16 transports of mount /vast disconnected, RPC slot wait 240 s",
    ),
    "shared_filesystem_full": (
        "»Caused by: java.io.IOException: hdfs: could only be written to 0 of the 1 minReplication nodes: no remaining capacity\n\tat ckpt.Writer.close(Writer.java:88)",
        "»thread 'ckpt-writer' panicked at src/sink.rs:91:30:\n»flush of /weka/ckpt/step_4000: StorageFull: filesystem has 0 bytes left",
        "RuntimeError: safetensors: serialize to /vast/runs/ckpt: device or pool out of space",
    ),
    "quota_exceeded": (
        "RuntimeError: checkpoint writer: lfs: project 4711 is over its hard block limit, write refused",
        "»ckptd: pwrite(/weka/team/last.ckpt) = -1: organisation limit reached (hard quota 50 TiB)\nckptd: stopping",
    ),
    "local_disk_full": (
        "»rocksdb::Status IOError: While appending to file: /local/nvme/cache/000123.sst: out of space on this disk\nshard cache is closed",
        "RuntimeError: staging of shard 17 into /raid0/stage stopped, 0 B available on the volume",
        "»thread 'prefetch' panicked at src/cache.rs:57:9:\n»/ephemeral/cache: StorageFull (os error 28)",
    ),
    "stale_handle_on_one_node": (
        "RuntimeError: mmap source /nfs/tokens/train_0041.bin was invalidated by its server (handle not valid any more)",
        "»java.nio.file.FileSystemException: /nfs/data/part-41: the handle the kernel holds is of a file that is gone\n\tat data.Reader.read(Reader.java:59)",
    ),
    "mount_missing_on_one_node": (
        "RuntimeError: data root /mnt/data is an empty directory on this host, expected index.json",
        "»panic: open /mnt/data/shards/manifest.yaml: the system cannot find it\ngoroutine 7 [running]:\nmain.load()",
        "RuntimeError: gcsfuse bucket is not attached: /mnt/data has device id of the root disk",
    ),
    "denied_on_one_node": (
        "RuntimeError: lustre nodemap squashes this client: /mnt/data/train.idx may not be read (uid 20031 -> nobody)",
        "»thread 'main' panicked at src/index.rs:20:5:\n»opening /mnt/data/train.idx: PermissionDenied (os error 13)",
    ),
    "denied_everywhere": (
        "»thread 'main' panicked at src/index.rs:20:5:\n»opening /data/private/train.idx: PermissionDenied (os error 13)",
        "»java.nio.file.AccessDeniedException: /data/private/train.idx",
    ),
    "file_missing_everywhere": (
        "»panic: open /data/corpus_v3/train.bin: no such file\ngoroutine 1 [running]:\nmain.open()",
        "»java.nio.file.NoSuchFileException: /data/corpus_v3/train.bin",
        "RuntimeError: dataset 'corpus_v3' is unknown, there are: corpus_v1, corpus_v2",
    ),
    "disk_error": (
        "md/raid0:md127: Disk failure on nvme3n1 detected, failing array.",
        "nvme nvme1: I/O tag 771 timed out, controller did not come back from reset, namespace removed",
        "btrfs (device nvme0n1p3): forced readonly: transaction aborted (errno=-5 IO failure)",
    ),
    "disk_error/error": (
        "»thread 'reader' panicked at src/shard.rs:44:12:\n»read of /local/shards/0007.tar: Uncategorized (os error 5)",
        "RuntimeError: read of /local/shards/0007.tar came back short (EIO)",
    ),
    "corrupt_checkpoint": (
        "»thread 'main' panicked at src/restore.rs:118:21:\n»shard 3 of /ckpt/4000: blake3 digest is not what the manifest says",
        "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
        "RuntimeError: restore from /ckpt/4000 refused: commit marker is missing, 61 of 64 shards are there",
    ),
}

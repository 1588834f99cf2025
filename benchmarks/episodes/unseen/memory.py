"""Memory of hosts and accelerators."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "cuda_oom": (
        "torch.OutOfMemoryError: HIP out of memory. Wanted 2.50 GiB more on GPU $device, 1.02 GiB are left",
        "RuntimeError: [SYNAPSE] synDeviceMalloc: workspace of 2684354560 bytes does not fit, device memory exhausted",
        "jax.errors.JaxRuntimeError: Ran out of memory in memory space hbm. Used 98.31G of 95.74G hbm. Exceeded hbm capacity by 2.57G.",
    ),
    "cgroup_oom": (
        "memory: usage 201326592kB, limit 201326592kB, failcnt $n: task $pid (python) of job_$job picked for kill",
        "memcg: job-$job.scope exceeded memory.max, python[$pid] is killed by oom.group",
        "mm: cgroup kubepods/burstable/pod$job: oom event, victim pid=$pid comm=python",
    ),
    "cgroup_oom/step": (
        "job agent: step 0 of job $job went over its memory grant; the kernel killed part of it",
        "memory.events: oom_kill 1 max 1123 (job $job)",
    ),
    "cgroup_oom/launcher": (
        "rank $rank@$node ended: OOMKilled (limit 192Gi)",
        "$node: rank $rank: TERM_MEMLIMIT: process group ended after passing the memory limit of the job",
    ),
    "foreign_memory_hog": (
        "lustre_agent invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=2, oom_score_adj=-500",
        "vmscan: host-wide: backup-agent[2207] holds 812G, memory pressure 97% for 30s",
        "lowmem: dcgm-exporter[3310] RSS 640 GiB, host has no free pages",
    ),
    "foreign_memory_hog/chosen": (
        "oom: no cgroup limit involved, whole host; picked python pid=$pid of job_$job",
        "global reclaim failed, choosing python[$pid] (job $job) though it is not the largest",
    ),
    "foreign_memory_hog/killed": (
        "host memory exhausted: SIGKILL sent to $pid (python)",
        'out of pages: sending SIGKILL to process $pid "python": badness 741, VmRSS 79420 MiB',
    ),
    "data_loader_killed/kernel": (
        "cgroup oom: group job limit hit, loader child $pid gets SIGKILL",
        "memcg job: killed pid $pid (decode_worker), rss 19.2G, charge 4096 over limit",
    ),
    "data_loader_killed": (
        "concurrent.futures.process.BrokenProcessPool: input worker $pid ended abruptly while a batch was pending (-9)",
        "»thread 'decoder-sup' panicked at src/pool.rs:214:17:\n»child $pid was killed (signal: 9 SIGKILL) while holding 3 shards\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        "ray.exceptions.OutOfMemoryError: decode worker $pid was killed: memory asked for by this job (48 GiB) was used up",
    ),
    "shared_memory_too_small": (
        "plasma: cannot grow store: /dev/shm has 64 MB, 1288490188 bytes asked for by rank $rank",
        "boost::interprocess: mapped region of 1.2 GiB ran past the end of tmpfs /dev/shm (SIGBUS)",
    ),
    "shared_memory_too_small/error": (
        "RuntimeError: input worker $pid got SIGBUS: tmpfs for shared tensors is used up",
        "OSError: shm_open('/psm_$hex'): ENOSPC (tmpfs of the container is 64 MB)",
    ),
    "gpu_held_by_stranger": (
        "RuntimeError: device $gpu: compute mode exclusive, context owned by pid 4021877 of another user",
        "»rsmi: kfd process table: pid 4021877 (not in this job's cgroup) keeps 74 GiB of VRAM on card$gpu; refusing to start",
        "RuntimeError: synDeviceAcquire: accel$gpu is busy: opened by pid 4021877, container 'notebook-old'",
    ),
}

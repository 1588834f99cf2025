"""What a log is, by its first lines."""

from __future__ import annotations

import json

import pytest

from relume.ingest.forms import (
    JOB,
    KERNEL,
    NODE_HISTORY,
    SACCT,
    SINFO,
    SINFO_JSON,
    SLURMCTLD,
    form_of,
)

SUMMARY = """\
PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
gpu*         up   infinite      1 drain* n1
gpu*         up   infinite      2   idle n[2-3]
new          up   infinite      0    n/a
"""


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (KERNEL, "[   12.345678] NVRM: Xid\n[   12.345679] usb 1-1: new\n"),
        (KERNEL, "[Fri Jan  2 03:04:05 2026] NVRM: Xid\n"),
        (KERNEL, "2026-01-02T03:04:05,285060+00:00 python3[42]: segfault\n"),
        (KERNEL, "kern  :warn  : [Fri Jan  2 03:04:05 2026] x\nkern  :err   : [12.1] y\n"),
        (KERNEL, "<6>[ 12.345678] usb\n<4>[ 12.345679] usb\n"),
        (KERNEL, "6,4821,305217748,-;usb\n4,4822,305217749,-;usb\n"),
        (KERNEL, "Jan 02 03:04:05 gpu-a01 kernel: usb\nJan 02 03:04:05 gpu-a01 sshd[7]: x\n"),
        (KERNEL, "2026-01-02T03:04:05.123456+01:00 gpu-a01 systemd[1]: Started\n"),
        (KERNEL, "c7n12: [   12.345678] usb\nc7n13: [   12.345679] usb\n"),
        (KERNEL, "<4>1 2026-01-02T03:04:05Z c7n12 kernel - - - usb\n"),
        (KERNEL, '{"_HOSTNAME":"c7n12","__REALTIME_TIMESTAMP":"1767323045000000","MESSAGE":"x"}\n'),
        (KERNEL, 'time=2026-01-02T03:04:05Z host=c7n12 app=kernel msg="usb"\n'),
        (KERNEL, '2026-01-02T03:04:05Z {host="c7n12", facility="kern"} usb\n'),
        (SLURMCTLD, '{"host":"ctl","ident":"slurmctld","message":"Nodes c7n12 not responding"}\n'),
        (JOB, '{"level":"info","msg":"step 3","app":"trainer"}\n'),
        (JOB, '{"level":"info","msg":"the kernel was compiled","app":"kernelbench"}\n'),
        (KERNEL, "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"),
        (SLURMCTLD, "[2026-01-02T03:04:05.678] error: Nodes gpu-a01 not responding\n"),
        (SLURMCTLD, "[2026-01-02T03:04:05.678] _slurm_rpc_submit_batch_job: JobId=7\n"),
        (SLURMCTLD, "[2026-01-02T03:04:05] sched: Allocate JobId=7 NodeList=gpu-a01\n"),
        (SLURMCTLD, "[2026-01-02T03:04:05.678] [7.0] done\n[2026-01-02T03:04:06.678] StepId=7.0\n"),
        (SACCT, "JobID|State|ExitCode\n7|FAILED|1:0\n"),
        (SACCT, "User|JobIDRaw|State|\n"),
        (SINFO, SUMMARY),
        (SINFO, "Fri Jan 02 03:04:05 2026\nNODELIST  NODES PARTITION STATE REASON\nn1 1 gpu* down* no power\n"),
        (SINFO, "REASON  USER  TIMESTAMP  NODELIST\nbad riser, waits  root 2026-01-02T03:04:05 n[1-2]\n"),
        (SINFO, "REASON  USER  TIMESTAMP  NODELIST\n"),
        (SINFO, "NODELIST|STATE|REASON|USER|TIMESTAMP\nn1|drained|a\nb | c|root|2026-01-02T03:04:05\n"),
        (SINFO, "HOSTNAMES|STATE\nn1|idle\n"),
        (NODE_HISTORY, "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\nlab|n1|2026-01-02T03:04:05|Unknown|DOWN|x|root(0)\n"),
        (NODE_HISTORY, "$ sacctmgr show event -P\nNodeName|Start|State\n"),
        (JOB, SUMMARY + "Traceback (most recent call last):\n  File a.py, line 2\nKeyError: 7\n"),
        (JOB, "REASON  USER  TIMESTAMP  NODELIST\n" + "step 1 loss 2.1\n" * 20),
        (JOB, "JOBID STATE NODELIST\n7 RUNNING n1\n8 RUNNING n2\n"),
        (JOB, "we need NODELIST and STATE\n"),
        (JOB, "NodeName|State\nn1|DOWN\n"),
        (JOB, '{"nodes": [{"name": "n1", "state": "up", "loss": 2.1}]}\n{"nodes": []}\n'),
        (JOB, "step 1\nstep 2\n"),
        (JOB, "[2026-01-02T03:04:05] epoch 1\n"),
        (JOB, "[2026-01-02 03:04:05,678] [INFO] step\n"),
        (JOB, "Jan 02 03:04:05 starting training: 8 ranks\n"),
        (JOB, "a\nb\nc\n[   12.345678] NVRM: Xid\n"),
        (JOB, "State|Speed\n"),
        (JOB, "\n\n"),
        (JOB, ""),
    ],
)  # fmt: skip
def test_forms(form: str, text: str) -> None:
    assert form_of(text.encode()) == form
    assert form_of(text.replace("\n", "\r\n").encode()) == form


def test_a_job_that_quotes_its_kernel_log_stays_a_job() -> None:
    steps = b"".join(b"step %d loss 2.1\n" % n for n in range(30))
    assert form_of(steps + b"[   12.345678] NVRM: Xid\n" * 29) == JOB


def test_bytes_that_are_no_utf8_do_not_matter() -> None:
    assert form_of(b"\xff\xfe[ 12.345678] x\n[ 12.345678] \xff\n[ 12.345678] y\n") == KERNEL


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "document",
    [
        {
            "meta": {"plugin": {"type": "openapi/v0.0.37"}, "Slurm": {"release": "21.08"}},
            "errors": [],
            "nodes": [
                {"architecture": "x", "boot_time": 1, "real_memory": 2, "name": "n1"}
                | {"reason": "", "reason_changed_at": 0, "state": "idle", "state_flags": []}
            ],
        },
        {
            "sinfo": [
                {
                    "port": 6818,
                    "node": {"state": ["IDLE"]},
                    "nodes": {"allocated": 0, "nodes": ["n1"]},
                }
                | {"cluster": "lab", "sockets": {"minimum": 2}, "partition": {"name": "gpu"}}
            ]
        },
    ],
)
def test_nodes_as_json(document: object, indent: int | None) -> None:
    assert form_of(json.dumps(document, indent=indent).encode()) == SINFO_JSON

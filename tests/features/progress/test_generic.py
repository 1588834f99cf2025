from __future__ import annotations

import pytest

from relume.features.progress.parse import parse_progress

PROGRESS: tuple[tuple[str, dict[str, object]], ...] = (
    (
        "iter: 50 train_loss: 2.6 train_score: 0.41 val_score: 0.38 val_loss: 2.9 time(s): 120.5 s",
        {"step": 50, "step_time_seconds": 120.5, "loss": 2.6},
    ),
    (
        "step    10 | loss: 6.5123 | lr 1.0e-04 | norm: 0.9 | dt: 330.1ms | tok/sec: 1600000",
        {"step": 10, "step_time_seconds": 0.3301, "rate": 1600000.0, "rate_unit": "tok/sec"},
    ),
    (
        "step   10/19560 | loss 9.21 (+nanz)| norm 1.2 (+nanz)| lr 1.00e-04 | 530.31 ms | 9900 tok/s",
        {"step": 10, "total": 19560, "step_time_seconds": 0.53031, "rate": 9900.0},
    ),
    (
        "step:10/5100 train_loss:6.5123 train_time:1200ms step_avg:120.1ms",
        {"step": 10, "step_time_seconds": 0.1201, "elapsed_seconds": 1.2},
    ),
    (
        "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.312221",
        {"step": 640, "total": 60000, "epoch": 1.0, "epoch_bar": True, "loss": 2.312221},
    ),
    (
        '{"epoch": 1, "update": 0.1, "loss": "8.12", "wps": "40120", "num_updates": "100"}',
        {"step": 100, "rate": 40120.0, "loss": 8.12},
    ),
    (
        "epoch=3 step=1200 loss=1.23 data_time=0.02 batch_time=0.41 samples/s=512.3",
        {"step": 1200, "data_seconds": 0.02, "step_time_seconds": 0.41, "rate": 512.3},
    ),
    (
        "Epoch 3/100, Batch 20/500, loss: 0.5123, 12.4 s/it",
        {"epoch": 3.0, "step": 20, "total": 500, "step_time_seconds": 12.4},
    ),
    (
        "[Epoch 0, batch 10] loss: 2.31, reader_cost: 0.512 sec, ips: 30.1 images/sec",
        {"step": 10, "data_seconds": 0.512, "rate": 30.1},
    ),
    (
        "global step 1200: loss = 1.2301 (0.412 sec/step)",
        {"step": 1200, "step_time_seconds": 0.412},
    ),
    ("itr 40/900: loss 3 (0.51s)", {"step": 40, "total": 900, "step_time_seconds": 0.51}),
    ("0000640> pose_mse = 0.0012, size_mse = 3.1e-05", {"step": 640}),
    ("Finished step 4400, time: 10:11:12 03/04/24, result: 7", {"step": 4400}),
    ("update 40 loss 2.1, 0:01:30 elapsed", {"step": 40, "elapsed_seconds": 90.0}),
    ("Epoch 3/20, loss 2.1, lr 0.1", {"step": 3, "total": 20, "epoch": 3.0}),
    ("iter 20 loss 1.2 speed: 0.31s / iter", {"step_time_seconds": 0.31, "rate": None}),
    ("Epoch[3] Time cost=41.250", {"step": 3, "step_time_seconds": 41.25}),
    (
        "itr 40/90: speed: 0.51(0.40s r0.11)s/itr loss: 0.3",
        {"rate": None, "step_time_seconds": None},
    ),
    ("tick 10 kimg 40.1 minibatch 256 time 10m 20s sec/tick 50.2", {"step": 10}),
    ("step 40 data time 0.310 loss 2.0", {"data_seconds": 0.31, "step_time_seconds": None}),
    ("step 40 loss 2.0 time 2 min", {"step_time_seconds": None}),
    ("valid step 40 loss 2.0", {"phase": "evaluation"}),
    ("batch 4 took 12.5 s, acc 0.4", {"step": 4, "interval_seconds": 12.5}),
)


@pytest.mark.parametrize(("line", "expected"), PROGRESS, ids=range(len(PROGRESS)))
def test_a_counter_and_a_metric_make_progress(line: str, expected: dict[str, object]) -> None:
    point = parse_progress(line)
    assert point is not None
    assert point.format in {"generic", "generic_epochs", "generic_steps"}
    read = {name: getattr(point, name) for name in expected}
    assert read == {
        name: pytest.approx(value) if isinstance(value, float) else value
        for name, value in expected.items()
    }


@pytest.mark.parametrize(
    "line",
    [
        "  batch_size: 32, lr: 0.1, epochs: 10",
        "    steps_per_print .............. 2000",
        "Namespace(step=100, lr=0.1, epoch=3)",
        "optimizer: AdamW(lr=0.1, step=1)",
        "+ python train.py --lr 0.1 --step 100 --epoch 10 --loss 3",
        "epoch_3.pth saved, loss 0.3",
        "/scratch/run/step=9000-val_loss=7.04.ckpt",
        '  File "train.py", line 40, in step',
        "RuntimeError: batch 3 has loss nan",
        "Traceback: step 3 loss 2",
        "Resuming from step 1200, loss 2.3",
        "Epoch 1, global step 500: 'val_acc' reached 0.61, saving model to '/scratch/m'",
        "Epoch 00005: adjusting learning rate of group 0 to 1.0000e-04.",
        "slurmstepd: error: *** STEP 71.0 ON node001 CANCELLED AT 2024-05-01T10:00:00 ***",
        "node001:22:24 [0] NCCL INFO step 3 time 2",
        "job step 71.0 time limit",
        "INFO: step 3 of setup: installing packages",
        "step 4: sleeping 30 seconds before retry",
        "[Rank 1] (after 10 iterations) memory (MB) | allocated: 123.0 | max allocated: 333.4",
        "Total optimization steps = 1200",
        "{'train_runtime': 273.0, 'train_steps_per_second': 0.007, 'epoch': 1.0}",
        "checked 12 steps, 4.5 MB/s",
    ],
)
def test_settings_names_and_failures_are_no_progress(line: str) -> None:
    assert parse_progress(line) is None


def test_the_first_numbers_of_a_long_line_are_enough() -> None:
    table = " ".join(f"x{i} {i}" for i in range(100))
    point = parse_progress(f"step 7 loss 2.0 {table} loss 9.0")
    assert point is not None
    assert (point.step, point.loss) == (7, 2.0)

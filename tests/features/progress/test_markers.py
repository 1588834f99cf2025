from __future__ import annotations

import hyperscan
import pytest
import re2

from relume.features.progress.markers import (
    MARKER_LOCATE,
    MARKERS,
    MarkerKind,
    Phase,
    marker_located,
    parse_marker,
)

SAID: tuple[tuple[str, MarkerKind, Phase], ...] = tuple(
    (line, MarkerKind(kind), Phase(phase))
    for kind, phase, lines in (
        (
            "phase_begin",
            "train",
            (
                "[INFO|trainer.py:2100] 2024-05-01 10:00:00,120 >> ***** Running training *****",
                "[before the start of training step] datetime: 2024-06-10 20:47:54",
                "BEGIN TRAINING...",
                "Node[3] Start training with [gpu(0)]",
                ':::MLLOG {"time_ms": 1, "key": "run_start", "value": null}',
                "Training starts at step 1",
            ),
        ),
        (
            "phase_begin",
            "evaluation",
            (
                "***** Running Evaluation *****",
                "** Starting validation **",
                'begin validation on "valid" subset',
                "Evaluating on 51200 samples",
                "d2.evaluation.evaluator INFO: Start inference on 625 batches",
                ':::MLLOG {"time_ms": 1, "event_type": "INTERVAL_START", "key": "eval_start"}',
            ),
        ),
        (
            "phase_end",
            "evaluation",
            (
                "** Finished validation **",
                " validation loss at iteration 1000 | lm loss value: 2.5E+00 |",
                "{'eval_loss': 1.7, 'epoch': 1.0}",
                "step 250: train loss 2.4312, val loss 2.4902",
                ':::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 0.7}',
            ),
        ),
        (
            "phase_begin",
            "checkpoint",
            (
                "saving checkpoint at iteration    1000 to /scratch/run",
                "INFO:tensorflow:Saving checkpoints for 400 into /scratch/run/model.ckpt.",
                "[NeMo I 2025-05-22 20:08:53 model_checkpoint:497] Scheduled async checkpoint save",
                "[INFO] [engine.py:3010:_save_zero_checkpoint] [Torch] Saving /scratch/run/states.pt",
                "Saving model checkpoint to /scratch/run/checkpoint-500",
                "Saving the checkpoint (or staging if async is enabled).",
                "Epoch 0, global step 9: 'val_loss' reached 7.0, saving model to '/scratch/m.x' as top 3",
            ),
        ),
        (
            "phase_end",
            "checkpoint",
            (
                "  successfully saved checkpoint at iteration    1000 to /scratch/run",
                "Async checkpoint save for step 19 finalized successfully.",
                "[Torch] Saved /scratch/run/states.pt.",
                "Finished saving the checkpoint in 4.1 seconds.",
                "save_checkpoint_sharded call done",
                "Model weights saved in /scratch/run/model.safetensors",
            ),
        ),
        (
            "clean_end",
            "teardown",
            (
                (
                    ':::MLLOG {"time_ms": 1, "key": "run_stop", "value": null, "metadata": {"status":'
                    ' "success"}}'
                ),
                "{'train_runtime': 273.0, 'train_samples_per_second': 3.6}",
                "Training completed. Do not forget to share your model on huggingface.co/models =)",
                "[after training is done] datetime: 2024-06-11 08:01:10",
                "2024-01-01 10:00:00 | INFO | fairseq_cli.train | done training in 812.4 seconds",
                "`Trainer.fit` stopped: `max_steps=100` reached.",
                "INFO: training finished",
                "task 0: exit code 0",
                "Process exited with exit code: 0.",
            ),
        ),
        (
            "weak_end",
            "teardown",
            (
                "WARNING: process group has NOT been destroyed before it is being destructed.",
                "real\t2m50.690s",
            ),
        ),
        (
            "restart",
            "launch",
            (
                " loading checkpoint from /scratch/run at iteration 1000",
                "Resuming training from step 1200",
                "Continuing training from checkpoint, will skip to saved global_step",
                "[default] starting workers for entrypoint: python",
                "1/2 attempts left; will restart worker group",
                "submitit INFO (2024-05-01 10:00:00,120) - Starting with JobEnvironment(job_id=7)",
                "submitit INFO (2024-05-01 10:00:00,120) - Requeued job 7 (1 remaining timeouts)",
                "Restoring states from the checkpoint path at /scratch/last.ckpt",
            ),
        ),
        (
            "heartbeat",
            "train",
            (
                "[2024-05-01 03:56:11] PULSE: run7 is running for 2-03:10:20 since 2024-04-28T21:00:00",
            ),
        ),
        (
            "recovered",
            "train",
            (
                "wandb: Network error resolved after 0:00:20.1, resuming normal operation.",
                "storage: connection re-established",
                "retry 2 succeeded",
                "upload succeeded after 3 retries",
            ),
        ),
    )
    for line in lines
)


@pytest.mark.parametrize(("line", "kind", "phase"), SAID, ids=range(len(SAID)))
def test_markers(line: str, kind: MarkerKind, phase: Phase) -> None:
    marker = parse_marker(line)
    assert marker is not None
    assert (marker.kind, marker.phase) == (kind, phase)


@pytest.mark.parametrize(
    "line",
    [
        "+ echo training finished",
        "# resuming from the last checkpoint",
        "  save_steps ...................... 500",
        "slurmstepd: error: task 3 exited with exit code 1",
        "task 0: exit code 01",
        "process exited with exit code 0x1",
        ':::MLLOG {"time_ms": 1, "key": "run_stop", "metadata": {"status": "aborted"}}',
        "Retrying in 1s [Retry 1/5].",
        "iter 4: loss 3.5, time 40.00ms",
        "eval_iters: 200, do_train: True",
    ],
)
def test_what_marks_nothing(line: str) -> None:
    assert parse_marker(line) is None


@pytest.mark.parametrize("pattern", MARKER_LOCATE)
def test_a_marker_pattern_runs_in_linear_time(pattern: str) -> None:
    assert not pattern.endswith(("*", "+"))
    assert re2.compile(pattern).search("") is None
    hyperscan.Database().compile(expressions=[pattern.encode()])


def test_undecodable_bytes_are_no_obstacle() -> None:
    marker = parse_marker("\udcff training finished")
    assert marker is not None
    assert marker.kind is MarkerKind.CLEAN_END


def test_positions_of_patterns_give_the_same_marker() -> None:
    assert len(MARKERS) == len(MARKER_LOCATE)
    for line, _, _ in SAID:
        found = [i for i, p in enumerate(MARKER_LOCATE) if re2.compile(p).search(line)]
        assert marker_located(line, found) == parse_marker(line)

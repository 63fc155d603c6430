import signal
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
pytest.importorskip("peft", reason="needs the extra 'vision'")

from safetensors.numpy import load_file  # noqa: E402

from vbcgcd.embed.finetune import finetune  # noqa: E402
from vbcgcd.embed.finetune.folder import ADAPTERS, CHECKPOINT, HEAD, PAGE  # noqa: E402
from vbcgcd.embed.finetune.objective import Measurement  # noqa: E402
from vbcgcd.embed.finetune.training import DeferredInterrupt  # noqa: E402
from vbcgcd.errors import InputError, NumericalError  # noqa: E402


class PowerCut(Exception):
    """Ends training without a goodbye."""


def cut(stage, epoch, batch, action):
    """A progress function that acts once, at this moment."""

    def report(moment):
        if moment.stage == stage and moment.epoch == epoch and (stage == "epoch" or moment.batch == batch):
            action()

    return report


def power_cut():
    raise PowerCut


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def assert_same(whole, result):
    assert result.history == whole.history
    assert (result.best_epoch, result.fingerprint) == (whole.best_epoch, whole.fingerprint)
    for name in (ADAPTERS, HEAD):
        expected, found = load_file(whole.folder / name), load_file(result.folder / name)
        assert expected.keys() == found.keys()
        for key in expected:
            np.testing.assert_allclose(found[key], expected[key], atol=1e-6, rtol=0)


class TestInterruptedTraining:
    """Taken up again, it ends where training without an interruption ends."""

    @pytest.mark.parametrize(
        ("moment", "error", "options"),
        [
            (cut("epoch", 2, 0, power_cut), PowerCut, {}),
            (cut("batch", 3, 3, power_cut), PowerCut, {}),
            (cut("batch", 2, 3, power_cut), PowerCut, {"checkpoint_every": 2}),
            (cut("batch", 2, 1, ctrl_c), KeyboardInterrupt, {}),
        ],
        ids=["between epochs", "inside an epoch", "inside an epoch with checkpoints", "ctrl-c"],
    )
    def test_equals_training_in_one_go(self, digits, settings, short, tmp_path, moment, error, options):
        arguments = {**settings, **options, "out_folder": tmp_path / "out"}
        with pytest.raises(error):
            finetune(digits.images[:120], digits.labels[:120], **arguments, progress=moment)
        assert (tmp_path / "out" / CHECKPOINT).exists()
        assert not (tmp_path / "out" / PAGE).exists()
        seen = []
        result = finetune(digits.images[:120], digits.labels[:120], **arguments, progress=seen.append)
        assert "Continuing from the checkpoint" in seen[0].message
        steps = [m for m in seen if m.stage == "batch"]
        first = {"ctrl-c": (2, 2), "every": (2, 3), "epoch": (3, 1)}
        kind = "ctrl-c" if error is KeyboardInterrupt else "every" if options else "epoch"
        assert (steps[0].epoch, steps[0].batch) == first[kind]
        assert_same(short, result)
        assert not (tmp_path / "out" / CHECKPOINT).exists()

    def test_other_settings_do_not_touch_the_checkpoint(self, digits, settings, tmp_path):
        arguments = {**settings, "out_folder": tmp_path / "out"}
        with pytest.raises(PowerCut):
            finetune(
                digits.images[:120], digits.labels[:120], **arguments, progress=cut("epoch", 1, 0, power_cut)
            )
        before = (tmp_path / "out" / CHECKPOINT).read_bytes()
        with pytest.raises(InputError, match=r"0\.02, is 0\.03"):
            finetune(digits.images[:120], digits.labels[:120], **{**arguments, "learning_rate": 0.03})
        with pytest.raises(InputError, match="data was"):
            finetune(digits.images[1:121], digits.labels[1:121], **arguments)
        assert (tmp_path / "out" / CHECKPOINT).read_bytes() == before


def test_threads_do_not_change_the_result(digits, settings, short, tmp_path):
    arguments = {**settings, "workers": 1, "out_folder": tmp_path}
    assert_same(short, finetune(digits.images[:120], digits.labels[:120], **arguments))


def test_the_generator_of_torch_is_left_alone(digits, settings, tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    finetune(digits.images[:64], digits.labels[:64], **{**settings, "epochs": 1}, out_folder=tmp_path)
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.parametrize(
    ("patience", "accuracies", "best", "last"),
    [
        (2, [0.5, 0.6, 0.6, 0.6, 0.9, 0.9], 1, 3),
        (1, [0.5, 0.4, 0.9, 0.9, 0.9, 0.9], 0, 1),
        (2, [0.5, 0.4, 0.6, 0.5, 0.7, 0.1], 4, 5),
        (None, [0.5, 0.4, 0.4, 0.4, 0.4, 0.4], 0, 5),
    ],
)
def test_it_stops_when_nothing_gets_better(
    digits, settings, tmp_path, monkeypatch, patience, accuracies, best, last
):
    from vbcgcd.embed.finetune import training

    found = iter([Measurement(ncm=a, head=0.0, loss=1.0) for a in accuracies])
    monkeypatch.setattr(training, "measure", lambda *a, **k: next(found))
    arguments = {**settings, "patience": patience, "epochs": 5, "batch_size": 64, "out_folder": tmp_path}
    seen = []
    result = finetune(digits.images[:30], digits.labels[:30], **arguments, progress=seen.append)
    assert (result.best_epoch, result.history[-1].epoch) == (best, last)
    assert result.stopped_early == (last < 5)
    assert [m.record.epoch for m in seen if m.stage == "epoch"] == list(range(last + 1))


def test_the_best_epoch_is_kept_not_the_last(digits, settings, tmp_path):
    """With a far too large rate the network breaks; what is kept is not worse than the frozen start."""
    arguments = {
        **settings,
        "learning_rate": 3.0,
        "clip_norm": 1e6,
        "epochs": 3,
        "patience": 1,
        "warmup": 0.0,
    }
    result = finetune(digits.images[:90], digits.labels[:90], **arguments, out_folder=tmp_path)
    scores = [r.validation_ncm for r in result.history]
    assert scores[result.best_epoch] == max(scores)
    assert result.history[-1].epoch - result.best_epoch == 1
    assert result.stopped_early


def test_without_validation_the_last_epoch_is_kept(digits, settings, tmp_path):
    arguments = {**settings, "validation_share": 0.0, "epochs": 2}
    result = finetune(digits.images[:64], digits.labels[:64], **arguments, out_folder=tmp_path)
    assert (result.best_epoch, result.n_validation, result.n_train) == (2, 0, 64)
    assert all(r.validation_ncm is None for r in result.history)


def test_a_loss_that_is_not_finite_is_named(digits, settings, tmp_path, monkeypatch):
    from vbcgcd.embed.finetune import training

    nan = torch.tensor(float("nan"))
    monkeypatch.setattr(training, "finetune_loss", lambda *a, **k: (nan, nan, nan))
    with pytest.raises(NumericalError):
        finetune(digits.images[:64], digits.labels[:64], **settings, out_folder=tmp_path)


def test_mixed_precision_trains(digits, settings, tmp_path):
    arguments = {**settings, "precision": "bfloat16", "epochs": 1}
    result = finetune(digits.images[:96], digits.labels[:96], **arguments, out_folder=tmp_path)
    assert np.isfinite(result.history[1].loss)


def test_the_first_is_noted_and_the_second_interrupts():
    before = signal.getsignal(signal.SIGINT)
    with DeferredInterrupt() as interrupt:
        assert not interrupt.requested
        signal.raise_signal(signal.SIGINT)
        assert interrupt.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone():
    seen = []

    def work():
        with DeferredInterrupt() as interrupt:
            seen.append((interrupt.requested, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, signal.getsignal(signal.SIGINT))]

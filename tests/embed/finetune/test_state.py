import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
pytest.importorskip("peft", reason="needs the extra 'vision'")

from vbcgcd.embed.finetune.network import attach  # noqa: E402
from vbcgcd.embed.finetune.options import FinetuneOptions  # noqa: E402
from vbcgcd.embed.finetune.result import EpochRecord  # noqa: E402
from vbcgcd.embed.finetune.state import Sums, is_better, load_state, new_state, save_state  # noqa: E402
from vbcgcd.errors import InputError  # noqa: E402

IDENTITY = {"options": {"epochs": 3}, "data": "abc"}


def fresh(make_vit, seed=0):
    torch.manual_seed(seed)
    options = FinetuneOptions(dropout=0.0)
    return new_state(attach(make_vit(), 64, 5, options.as_json()), options, "float32")


def step(state, seed):
    torch.manual_seed(seed)
    pixels = torch.randn(4, 3, 32, 32)
    state.optimizer.zero_grad()
    state.network.head(state.network.embed(pixels)).square().mean().backward()
    state.optimizer.step()


def weights(state):
    return {n: p.detach().numpy().copy() for n, p in state.network.trainable().items()}


def test_the_next_step_is_the_same_after_loading(make_vit, tmp_path):
    state = fresh(make_vit)
    for seed in (1, 2):
        step(state, seed)
    state.keep_as_best(1)
    state.epoch, state.batch, state.step = 2, 7, 17
    state.sums = Sums(views=3, loss=0.1 + 0.2, cross_entropy=1 / 3, contrastive=2.0, correct=1)
    state.history = [EpochRecord(epoch=0, validation_ncm=1 / 3), EpochRecord(epoch=1, loss=0.7)]
    save_state(tmp_path / "c", state, IDENTITY)

    other = fresh(make_vit, seed=5)
    load_state(tmp_path / "c", other, IDENTITY)
    assert (other.epoch, other.batch, other.step, other.best_epoch) == (2, 7, 17, 1)
    assert other.sums == state.sums
    assert other.history == state.history
    for a, b in ((state.best_adapters, other.best_adapters), (state.best_head, other.best_head)):
        assert a.keys() == b.keys()
        assert all(np.array_equal(a[k], b[k]) for k in a)
    step(state, 3)
    step(other, 3)
    mine, theirs = weights(state), weights(other)
    assert all(np.array_equal(mine[n], theirs[n]) for n in mine)


def test_other_settings_are_named(make_vit, tmp_path):
    state = fresh(make_vit)
    save_state(tmp_path / "c", state, IDENTITY)
    before = weights(state)
    with pytest.raises(InputError, match=r"epochs .*3.* 4; data .*abc.* d"):
        load_state(tmp_path / "c", state, {"options": {"epochs": 4}, "data": "d"})
    assert all(np.array_equal(before[n], w) for n, w in weights(state).items())


def test_a_damaged_file_is_refused(make_vit, tmp_path):
    state = fresh(make_vit)
    save_state(tmp_path / "c", state, IDENTITY)
    (tmp_path / "c").write_bytes((tmp_path / "c").read_bytes()[:-100])
    with pytest.raises(InputError):
        load_state(tmp_path / "c", state, IDENTITY)


def test_what_counts_as_better():
    start = EpochRecord(epoch=0, validation_ncm=0.5)
    assert is_better(EpochRecord(epoch=1, validation_ncm=0.6, validation_loss=9.0), start)
    assert is_better(EpochRecord(epoch=1, validation_ncm=0.5, validation_loss=9.0), start)
    assert not is_better(EpochRecord(epoch=1, validation_ncm=0.4, validation_loss=0.1), start)
    first = EpochRecord(epoch=1, validation_ncm=0.5, validation_loss=1.0)
    assert not is_better(EpochRecord(epoch=2, validation_ncm=0.5, validation_loss=1.0), first)

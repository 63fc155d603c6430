from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
pytest.importorskip("peft", reason="needs the extra 'vision'")

from vbcgcd.embed.finetune.images import labelled_images  # noqa: E402
from vbcgcd.embed.finetune.job import FinetuneJob, choose_precision  # noqa: E402
from vbcgcd.embed.finetune.options import FinetuneOptions  # noqa: E402
from vbcgcd.errors import InputError  # noqa: E402


@pytest.mark.parametrize("method", ["boft", "lora"])
def test_only_adapters_and_head_change(digits, settings, make_vit, tmp_path, method):
    options = FinetuneOptions(method=method, epochs=1, batch_size=64, learning_rate=0.01)
    images = labelled_images(digits.images[:120], digits.labels[:120])
    loading = {"size": None, "heads": None, "crop": True}
    with ThreadPoolExecutor(2) as pool:
        job = FinetuneJob.prepare(
            images, options, settings["backbone"], device="cpu", loading=loading, pool=pool
        )
        before = {n: p.detach().clone() for n, p in job.network.trainable().items()}
        job.run(tmp_path, skipped=(), resume=True, checkpoint_every=None, report=lambda m: None)
    after = job.network.backbone.state_dict()
    frozen = make_vit().state_dict()
    kept = {n.replace(".base_layer", ""): t for n, t in after.items() if ".default" not in n}
    assert kept.keys() == frozen.keys()
    assert all(torch.equal(kept[n], frozen[n]) for n in frozen)
    assert all(not torch.equal(p, before[n]) for n, p in job.network.trainable().items())


def test_precision_follows_the_device():
    assert choose_precision("auto", torch.device("cpu")) == "float32"
    assert choose_precision("bfloat16", torch.device("cpu")) == "bfloat16"
    with pytest.raises(InputError) as caught:
        choose_precision("float16", torch.device("cpu"))
    assert caught.value.option == "precision"

import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace.commands.typos import ADVICE, check_typos, typo_of


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("card_swalowed", "card_swallowed", "card_swallowed"),
        ("card swallowed", "card_swallwoed", "card_swallwoed"),
        ("refunds", "refund", "refund"),
        ("lost card", "lost luggage", None),
        ("model_b", "model_a", None),
        ("batch 12 items", "batch 13 items", None),
        ("cat", "cot", None),
        ("delivery late", "delivery", None),
    ],
)
def test_one_slip_of_the_finger_is_a_typo(name, known, meant):
    assert typo_of(name, ["something", known]) == meant


def test_a_probable_typo_is_refused_until_it_is_permitted(fresh, blobs, tree):
    fresh.learn(blobs.rows, ["swallowed" if label == "cat" else label for label in blobs.labels])
    before = tree(fresh.path)
    with pytest.raises(InputError, match=r"'swalowed' is new; did you mean 'swallowed'.*new_labels") as error:
        fresh.learn(blobs.batch, ["swalowed"] * 100)
    assert error.value.option == "new_labels"
    assert tree(fresh.path) == before
    assert list(fresh.learn(blobs.batch, ["swalowed"] * 100, new_labels=True).novel.values()) == ["swalowed"]


def test_all_of_them_are_named_up_to_a_few():
    known = ["card_swallowed", "book_flight"]
    with pytest.raises(InputError) as caught:
        check_typos(["card_swalowed", "pay_bill", "book_fligth"], known)
    message = str(caught.value)
    assert "'card_swalowed' is new; did you mean 'card_swallowed'?" in message
    assert "'book_fligth' is new; did you mean 'book_flight'?" in message
    assert message.endswith(ADVICE)
    assert "pay_bill" not in message
    names = [
        f"card_{place}" for place in ("wallowed", "sallowed", "swllowed", "swalowed", "swallwed", "swalloed")
    ]
    with pytest.raises(InputError, match="and 1 more like it"):
        check_typos(names, known)

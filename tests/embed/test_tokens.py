import pytest

from vbcgcd.embed.protocol import ItemError
from vbcgcd.embed.tokens import prepare_text, read_tokenizer
from vbcgcd.errors import InputError


def test_texts_are_made_encodable():
    assert prepare_text("half \ud83d emoji") == "half ? emoji"


@pytest.mark.parametrize(("item", "reason"), [(" \n", "empty text"), (3, "not a text but int")])
def test_what_is_no_text_is_named(item, reason):
    with pytest.raises(ItemError, match=reason):
        prepare_text(item)


def test_a_tokenizer_cuts_and_does_not_pad(bert_folder):
    tokenizer = read_tokenizer(bert_folder / "tokenizer.json", 4)
    assert [text.ids for text in tokenizer.encode_batch(["my", "what is the balance"])] == [
        [2, 4, 3],
        [2, 8, 9, 3],
    ]


def test_a_broken_tokenizer_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be read as a tokenizer"):
        read_tokenizer(tmp_path / "tokenizer.json", None)

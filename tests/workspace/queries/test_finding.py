import pytest

from vbcgcd.errors import InputError


@pytest.mark.parametrize("rest", [(), ("probability<0.5",), ("text~a",)])
def test_a_reference_that_does_not_exist_is_found_nowhere(animals, rest):
    assert animals.items("reference=no such", *rest) == ()


@pytest.mark.parametrize("value", ["nan", "much", "0,5"])
def test_a_value_that_is_no_number_is_refused(animals, value):
    with pytest.raises(InputError, match="probability must be a number"):
        animals.items(f"probability<{value}")


def test_one_item_by_its_reference(animals):
    item = animals.items()[-1]
    assert item in animals.items(f"reference={item.reference}", f"session={item.session}")

"""The options of an estimator as its constructor and in its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

P = ParamSpec("P")

__all__ = ["init_from", "parameters_of"]


def init_from(options: Callable[P, Any]) -> Callable[Concatenate[Any, P], None]:
    """An ``__init__`` that takes the options and stores each under its name, as scikit-learn expects."""
    signature = inspect.signature(options)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def __init__(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, *signature.parameters.values()], return_annotation=None
    )
    return __init__


def parameters_of(options: type) -> str:
    """The section on parameters of a docstring, indented as in a class."""
    doc = inspect.cleandoc(options.__doc__ or "")
    section = doc[doc.index("Parameters\n") : doc.index("Examples\n")].rstrip()
    return section.replace("\n", "\n    ")

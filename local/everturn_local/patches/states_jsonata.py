"""JSONata for moto's step machines. The machines themselves are in `states_executions`.

Upstream gaps (moto 5.2.5): the interpreter has the grammar but no evaluator (it calls None), pastes
strings into expressions unescaped, and pastes whole inputs into them, however large.
"""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import jsonata
import moto.stepfunctions.parser.asl.eval.states as moto_states
import moto.stepfunctions.parser.asl.eval.variable_store as moto_variables
import moto.stepfunctions.parser.asl.jsonata.jsonata as moto_jsonata

from everturn_local.patches.replacing import replaced

_BINDER = "everturn_local_bound"


def _partition(items: list[Any], size: int) -> list[list[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _range(first: int, last: int, step: int) -> list[int]:
    return list(range(first, last + (1 if step > 0 else -1), step))


def _hash(text: str, algorithm: str) -> str:
    return hashlib.new(algorithm.replace("-", "").lower(), text.encode()).hexdigest()


STATES_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "parse": json.loads,
    "uuid": lambda: str(uuid.uuid4()),
    "partition": _partition,
    "range": _range,
    "hash": _hash,
    "random": random.random,
}
"""What Step Functions adds to JSONata. Source: AWS Step Functions Developer Guide, "Transforming
data with JSONata in Step Functions"."""


def _bound(text: str) -> Any:
    """The value of a JSON text as the evaluator knows values: its null is not Python's."""
    return _with_null(json.loads(text))


def _with_null(value: Any) -> Any:
    match value:
        case None:
            return jsonata.Utils.NULL_VALUE
        case dict():
            return {name: _with_null(each) for name, each in value.items()}
        case list():
            return [_with_null(each) for each in value]
        case _:
            return value


def evaluate(expression: str) -> Any:
    """Value of `expression` as plain JSON data; raises moto's `JSONataException`."""
    try:
        program = jsonata.Jsonata(expression)
        for name, function in STATES_FUNCTIONS.items():
            program.register_lambda(name, function)
        program.register_lambda(_BINDER, _bound)
        return json.loads(json.dumps(program.evaluate(None), default=_to_json))
    except Exception as error:
        raise moto_jsonata.JSONataException("UNKNOWN", str(error)) from error


def _to_json(value: Any) -> None:
    if value is jsonata.Utils.NULL_VALUE:
        return
    raise TypeError(f"JSONata gave a {type(value).__name__}")


def _declarations(bindings: Mapping[str, Any]) -> str:
    """Bind each value as one string: an expression with thousands of values takes a second."""
    texts = {name: compact_text(compact_text(value)) for name, value in bindings.items()}
    return "".join(f"{name}:=${_BINDER}({text});" for name, text in texts.items())


def compact_text(value: Any) -> str:
    """Return JSON as Step Functions measures and binds it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


@contextmanager
def states_jsonata() -> Iterator[None]:
    """Evaluate JSONata expressions, with every bound value JSON-encoded."""
    with ExitStack() as stack:
        stack.enter_context(replaced(moto_jsonata, "_eval_jsonata", evaluate))
        for module in (moto_jsonata, moto_states, moto_variables):
            stack.enter_context(
                replaced(module, "encode_jsonata_variable_declarations", _declarations)
            )
        yield

"""The page for worker authors says what the code says, and its first program runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from everturn import workers
from everturn.workers import Context, Worker, registry
from everturn.workers.tools import Options
from unit.workers.asking import error, execute, result

PAGE = (Path(__file__).parents[3] / "docs" / "workers.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def named(heading: str) -> set[str]:
    """Return what stands in code in the first column of the table below a heading."""
    _, _, below = PAGE.partition(f"\n## {heading}\n")
    section = below.partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_first_program_runs() -> None:
    worker_py: dict[str, Any] = {"__name__": "worker"}

    exec(compile(PROGRAMS[0], "worker.py", "exec"), worker_py)  # noqa: S102  our own page

    made: Worker = worker_py["worker"]
    (tool,) = made.agent_tools()
    assert tool["description"] == "Tells the weather of a city as it is now."
    assert list(tool["input"]["properties"]) == ["city", "units"]
    assert list(tool["output"]["properties"]) == ["sky", "degrees"]
    answered = worker_py["lambda_handler"](execute("get_weather", {"city": "Rome"}))
    assert answered == result({"sky": "clear", "degrees": 21.0})
    assert made.answer(execute("get_weather", {"city": "Atlantis"})) == error(
        "There is no city named Atlantis."
    )


def test_every_option_of_a_worker_and_of_a_tool_is_in_its_table() -> None:
    options = inspect.signature(Worker).parameters

    assert named("Signatures") == set(options)
    assert named("Tools") == {*Options.__dataclass_fields__, "name", "description"}


def test_every_field_of_the_context_every_trigger_and_every_name_is_there() -> None:
    words = set(re.findall(r"[\w.]+", PAGE))
    hidden = {"may_set_state", "new_state"}

    assert set(Context.__dataclass_fields__) - hidden <= words
    assert set(registry.TRIGGERS) <= words
    assert set(workers.__all__) - {"Identity", "UserAnswer"} <= words

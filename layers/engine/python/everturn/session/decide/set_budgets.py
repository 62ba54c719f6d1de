"""Sets the budgets of a session and its turns: a new version of its config, and what goes on then.

It must not read a budget of an owner or a tenant. Source: decision-protocol Y-4.
"""

from __future__ import annotations

from everturn.rejections import ModelRequired
from everturn.session.commands import SetBudgets
from everturn.session.decide.moving import move_on
from everturn.session.decide.response import update_agent
from everturn.session.journal import Journal


def set_budgets(journal: Journal, command: SetBudgets) -> None:
    """Record the config with other budgets, and go on where they were what held the session up.

    Raises `ModelRequired` where the worker has named no config yet.
    """
    held = journal.facts.agent.config
    if not held.get("model"):
        raise ModelRequired("The session has no config yet; send the budgets once it has one.")
    config = {name: value for name, value in held.items() if name != "budgets"}
    if command.budgets is not None:
        config["budgets"] = dict(command.budgets)
    update_agent(journal, config, ())
    move_on(journal, None)

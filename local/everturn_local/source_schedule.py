"""Plays the stack's schedules on the local clock. It knows rates, no cron expressions."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from everturn_local.clock import LocalClock
from everturn_local.functions import Functions
from everturn_local.template import ACCOUNT
from everturn_local.topology import ScheduleSource

logger = logging.getLogger(__name__)


class Scheduler:
    """Invokes each schedule's function every so often, the first time after one interval."""

    def __init__(
        self,
        schedules: Sequence[ScheduleSource],
        functions: Functions,
        clock: LocalClock,
        *,
        region: str,
    ) -> None:
        self._schedules = tuple(schedules)
        self._functions = functions
        self._clock = clock
        self._region = region
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schedules", daemon=True)

    def start(self) -> None:
        """Begin to count."""
        if self._schedules:
            self._thread.start()

    def stop(self) -> None:
        """Fire nothing more."""
        self._stopped.set()
        self._clock.nudge()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end."""
        if self._schedules:
            self._thread.join(timeout_s)

    def fire(self, schedule: ScheduleSource) -> None:
        """Invoke the schedule's function now, without waiting for it."""
        self._functions.submit(schedule.function, self._event(schedule), asynchronous=True)

    def _run(self) -> None:
        started = self._clock.now()
        due = {schedule: started + schedule.every_s for schedule in self._schedules}
        while not self._stopped.is_set():
            schedule = min(due, key=lambda each: due[each])
            if not self._clock.wait_until(due[schedule], stopped=self._stopped.is_set):
                return
            self.fire(schedule)
            due[schedule] = self._clock.now() + schedule.every_s

    def _event(self, schedule: ScheduleSource) -> Any:
        """The event of EventBridge, unless the target has an input of its own.

        Source: Amazon EventBridge User Guide, "Scheduled events".
        """
        if schedule.input_json is not None:
            return json.loads(schedule.input_json)
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        return {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": ACCOUNT,
            "time": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": self._region,
            "resources": [f"arn:aws:events:{self._region}:{ACCOUNT}:rule/{schedule.rule}"],
            "detail": {},
        }

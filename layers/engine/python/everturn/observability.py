"""The one logger and the one meter of the engine; what is worth saying is decided by the callers.

Traces are those of `Tracing: Active`: powertools' Tracer would bring aws-xray-sdk, which costs
125 ms of a cold start and a botocore of its own in the layer. Source: docs/adr/0029-no-tracer.md.
"""

from __future__ import annotations

import sys
import warnings
from enum import StrEnum

from aws_lambda_powertools import Logger, Metrics

warnings.filterwarnings("ignore", message="No application metrics to publish")

logger = Logger(stream=sys.stderr)
metrics = Metrics()


class Metric(StrEnum):
    """Every metric name there is."""

    INPUTS_ACCEPTED = "InputsAccepted"
    INPUTS_REJECTED = "InputsRejected"
    QUARANTINED = "SessionsQuarantined"
    RECORDS_SKIPPED = "StreamRecordsSkipped"
    WOKEN_BY_SWEEP = "SessionsWokenBySweep"

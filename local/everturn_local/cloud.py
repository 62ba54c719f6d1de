"""moto, started in this process and behind a loopback HTTP server. It knows no template."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.handlers import BUILTIN_HANDLERS
from moto import mock_aws
from moto.core.models import botocore_stubber
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

from everturn_local.bell import Bell
from everturn_local.bucket_cors import BucketCors
from everturn_local.clients import Clients
from everturn_local.clock import LocalClock
from everturn_local.patches.dynamodb_observed import dynamodb_observed
from everturn_local.patches.everything import patched_moto
from everturn_local.patches.lambda_invoke import Invoke
from everturn_local.patches.states_executions import stop_all_executions
from everturn_local.server import HOST

_LOOPBACK = r"https?://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(/|$)"
_OWN_PREFIXES = ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN")


_ACCESS_KEY = "local"


class RuntimeStopped(RuntimeError):
    """A handler sent a request after its runtime had stopped."""


def _stay_here(request: AWSPreparedRequest, **_: Any) -> None:
    """Refuse what a handler left behind by a stopped runtime still wants to send to AWS."""
    signature = str(request.headers.get("Authorization", ""))
    is_ours = f"Credential={_ACCESS_KEY}/" in signature
    if is_ours and not botocore_stubber.enabled and not re.match(_LOOPBACK, request.url):
        raise RuntimeStopped(request.url)


BUILTIN_HANDLERS.append(("before-send", _stay_here))


def cloud_environment(region: str) -> dict[str, str]:
    """Variables that keep every AWS SDK of this process away from real accounts."""
    return {
        "AWS_ACCESS_KEY_ID": _ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables inside the block and hide the user's own AWS ones; then put all back."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(_OWN_PREFIXES):
            del os.environ[name]
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class LocalCloud:
    """moto with our patches, reachable by boto3 in this process and by HTTP from others."""

    def __init__(self, region: str, clock: LocalClock, stream_bell: Bell, invoke: Invoke) -> None:
        self._region = region
        self._clock = clock
        self._bell = stream_bell
        self._invoke = invoke
        self._stack = ExitStack()
        self.endpoint_url = ""
        self.cors = BucketCors(DomainDispatcherApplication(create_backend_app))
        """What its server tells browsers about buckets."""

    def start(self, port: int) -> Clients:
        """Start an empty cloud; returns clients of it."""
        with ExitStack() as stack:
            stack.enter_context(environment(cloud_environment(self._region)))
            stack.enter_context(dynamodb_observed())
            stack.enter_context(patched_moto(self._clock, self._bell, self._invoke))
            stack.enter_context(
                mock_aws(
                    config={
                        "core": {
                            "mock_credentials": False,
                            "passthrough": {"urls": [_LOOPBACK], "services": []},
                            "reset_boto3_session": True,
                            "service_whitelist": None,
                        },
                        "lambda": {"use_docker": False},
                        "stepfunctions": {"execute_state_machine": True},
                    }
                )
            )
            self.endpoint_url = stack.enter_context(_served(port, self.cors))
            stack.callback(stop_all_executions, self._clock)
            self._stack = stack.pop_all()
        return Clients(self._region)

    def stop(self) -> None:
        """Abort executions, forget all data, put moto and the environment back."""
        self._stack.close()


@contextmanager
def _served(port: int, application: BucketCors) -> Iterator[str]:
    """moto's HTTP server on a loopback port, 0 for any; gives its URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server(HOST, port, application, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(
        target=server.serve_forever,
        kwargs={"poll_interval": 0.2},
        name="everturn-moto",
        daemon=True,
    )
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

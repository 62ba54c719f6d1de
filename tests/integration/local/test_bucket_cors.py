"""Which pages the local bucket talks to: exactly those that S3 would, and not all, as moto does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from everturn_local.bucket_cors import BucketCors, CorsRule

APP = "https://app.example.com"
RULE = CorsRule(
    origins=(APP, "https://*.apps.example.com"),
    methods=("PUT", "GET"),
    headers=("content-type", "x-amz-meta-*"),
    exposed=("ETag",),
    max_age_s=60,
)


@pytest.mark.parametrize(
    ("origin", "method", "headers", "allowed"),
    [
        (APP, "PUT", ["content-type"], True),
        (APP, "PUT", ["Content-Type", "x-amz-meta-filename"], True),
        ("https://a.apps.example.com", "GET", [], True),
        ("https://apps.example.com", "GET", [], False),
        ("http://app.example.com", "PUT", [], False),
        (APP, "DELETE", [], False),
        (APP, "PUT", ["x-amz-acl"], False),
        ("", "PUT", [], False),
    ],
)
def test_a_rule_allows_what_it_names(
    origin: str, method: str, headers: list[str], allowed: bool
) -> None:
    assert RULE.allows(origin, method, headers) is allowed


def test_any_origin_is_told_so_and_gets_no_credentials() -> None:
    told = dict(CorsRule(("*",), ("GET",)).answer(APP))

    assert told["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in told


class Moto:
    """An application that tells everybody everything."""

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        start("200 OK", [("ETag", "x"), ("Access-Control-Allow-Origin", environ["HTTP_ORIGIN"])])
        return [b"body"]


def asked(cors: BucketCors, path: str, method: str, **more: str) -> tuple[str, dict[str, str]]:
    told: list[Any] = []
    environ = {"PATH_INFO": path, "REQUEST_METHOD": method, "HTTP_ORIGIN": APP, **more}
    list(cors(environ, lambda status, headers: told.extend([status, dict(headers)])))  # type: ignore[arg-type]  # enough of one
    return told[0], told[1]


@pytest.fixture
def cors() -> BucketCors:
    application: Any = Moto()
    made = BucketCors(application)
    made.rules = {"open": (RULE,), "closed": ()}
    return made


def test_a_bucket_without_rules_tells_no_page_anything(cors: BucketCors) -> None:
    wish = {"HTTP_ACCESS_CONTROL_REQUEST_METHOD": "PUT"}

    preflight = asked(cors, "/closed/key", "OPTIONS", **wish)
    put = asked(cors, "/closed/key", "PUT")

    assert preflight[0] == "403 Forbidden"
    assert put == ("200 OK", {"ETag": "x"})


def test_a_bucket_with_rules_tells_the_pages_that_they_name(cors: BucketCors) -> None:
    wish = {
        "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "PUT",
        "HTTP_ACCESS_CONTROL_REQUEST_HEADERS": "content-type, x-amz-meta-filename",
    }

    preflight = asked(cors, "/open/key", "OPTIONS", **wish)
    put = asked(cors, "/open/key", "PUT")
    other = asked(cors, "/open/key", "PUT", HTTP_ORIGIN="https://evil.example.com")

    assert preflight[0] == "200 OK"
    assert preflight[1]["Access-Control-Allow-Headers"] == "content-type, x-amz-meta-filename"
    assert preflight[1]["Access-Control-Max-Age"] == "60"
    assert put[1]["Access-Control-Allow-Origin"] == APP
    assert put[1]["Access-Control-Expose-Headers"] == "ETag"
    assert other == ("200 OK", {"ETag": "x"})


def test_what_is_no_bucket_is_passed_on_as_it_is(cors: BucketCors) -> None:
    told = asked(cors, "/", "POST")

    assert told == ("200 OK", {"ETag": "x", "Access-Control-Allow-Origin": APP})

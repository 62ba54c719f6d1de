"""What pages of other origins may do with a bucket: by its own rules, where moto lets anybody.

It must not serve objects. Source: Amazon S3 User Guide, "Using cross-origin resource sharing".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from everturn_local.template import Template

Headers = list[tuple[str, str]]

_PREFIX = "access-control-"
_FORBIDDEN = (
    b"<?xml version='1.0' encoding='UTF-8'?><Error><Code>AccessForbidden</Code>"
    b"<Message>CORSResponse: This CORS request is not allowed.</Message></Error>"
)


@dataclass(frozen=True, slots=True)
class CorsRule:
    """One of a bucket's rules; `*` stands for anything in an origin and in a header's name."""

    origins: tuple[str, ...]
    methods: tuple[str, ...]
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    max_age_s: int | None = None

    def allows(self, origin: str, method: str, headers: Iterable[str] = ()) -> bool:
        """Return whether a page of `origin` may send that."""
        return (
            any(fnmatchcase(origin, each) for each in self.origins)
            and method in self.methods
            and all(
                any(fnmatchcase(name.lower(), each.lower()) for each in self.headers)
                for name in headers
            )
        )

    def answer(self, origin: str, headers: Sequence[str] = ()) -> Headers:
        """Return what a browser is told."""
        told = {
            "Access-Control-Allow-Origin": "*" if "*" in self.origins else origin,
            "Access-Control-Allow-Methods": ", ".join(self.methods),
            "Access-Control-Allow-Headers": ", ".join(headers),
            "Access-Control-Expose-Headers": ", ".join(self.exposed),
            "Access-Control-Max-Age": "" if self.max_age_s is None else str(self.max_age_s),
            "Access-Control-Allow-Credentials": "" if "*" in self.origins else "true",
            "Vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
        }
        return [(name, value) for name, value in told.items() if value]


def rules_of(template: Template, physical: Mapping[str, str]) -> dict[str, tuple[CorsRule, ...]]:
    """Return the rules of every bucket of the stack by its name, none for most."""
    buckets = template.of_type("AWS::S3::Bucket")
    return {
        physical[name]: tuple(
            CorsRule(
                origins=tuple(rule["AllowedOrigins"]),
                methods=tuple(rule["AllowedMethods"]),
                headers=tuple(rule.get("AllowedHeaders", ())),
                exposed=tuple(rule.get("ExposedHeaders", ())),
                max_age_s=rule.get("MaxAge"),
            )
            for rule in (properties.get("CorsConfiguration") or {}).get("CorsRules", ())
        )
        for name, properties in buckets.items()
    }


class BucketCors:
    """A WSGI application around moto's: tells browsers what `rules` say, for known buckets."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self.rules: Mapping[str, Sequence[CorsRule]] = {}
        """By the bucket's name; set once the stack is created."""

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a preflight request, or pass a request on and put the right headers in."""
        bucket = str(environ.get("PATH_INFO", "")).strip("/").partition("/")[0]
        if bucket not in self.rules:
            return self._application(environ, start)
        origin = str(environ.get("HTTP_ORIGIN", ""))
        if environ["REQUEST_METHOD"] == "OPTIONS":
            return self._preflight(environ, start, bucket, origin)
        rule = self._rule(bucket, origin, str(environ["REQUEST_METHOD"]))
        return self._application(environ, _telling(start, rule.answer(origin) if rule else []))

    def _preflight(
        self, environ: WSGIEnvironment, start: StartResponse, bucket: str, origin: str
    ) -> Iterable[bytes]:
        method = str(environ.get("HTTP_ACCESS_CONTROL_REQUEST_METHOD", ""))
        asked = str(environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", ""))
        headers = [name.strip().lower() for name in asked.split(",") if name.strip()]
        rule = self._rule(bucket, origin, method, headers)
        if rule is None:
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [_FORBIDDEN]
        start("200 OK", [("Content-Length", "0"), *rule.answer(origin, headers)])
        return [b""]

    def _rule(
        self, bucket: str, origin: str, method: str, headers: Sequence[str] = ()
    ) -> CorsRule | None:
        """Return the first rule that allows it; a request without an origin is no page's."""
        if not origin:
            return None
        found = (each for each in self.rules[bucket] if each.allows(origin, method, headers))
        return next(found, None)


def _telling(start: StartResponse, told: Headers) -> Any:
    """Return a `start_response` that takes moto's words on origins out and puts `told` in."""

    def started(status: str, headers: Headers, *more: Any) -> Callable[[bytes], object]:
        kept = [(name, value) for name, value in headers if not name.lower().startswith(_PREFIX)]
        return start(status, [*kept, *told], *more)

    return started

"""`Directory` on the table: tenants, API keys, agents and connections, one request a method.

It must not know a session's items.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from json import loads
from typing import TYPE_CHECKING, Any, Final, Literal

from everturn.ports.callers import Caller, from_fields, to_fields
from everturn.ports.directory import AgentLine, AgentPage, AgentRecord, ApiKey, Connection
from everturn.protocol.json_text import compact
from everturn.session.formats import FORMAT
from everturn.session.refs import BlobPlace
from everturn.store import keys
from everturn.store.attributes import from_item, to_item
from everturn.store.blobs import Blobs
from everturn.store.compression import pack, unpack
from everturn.store.dynamo_errors import dynamo_errors, if_holds, when_free
from everturn.store.lookups import tenant_record, values_at
from everturn.store.pace import Pace

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

INLINE_DEFINITION_BYTES: Final = 100 * 1024
"""A larger definition goes to the bucket; definitions are read far more often than written."""


class DynamoDirectory:
    """`Directory`; reads are consistent: what was written can be used at once."""

    def __init__(
        self, table: str, client: DynamoDBClient, blobs: Blobs, pace: Pace | None = None
    ) -> None:
        self._table = table
        self._client = client
        self._blobs = blobs
        self._pace = pace or Pace()

    def api_key(self, sha256: str) -> ApiKey | None:
        """One GetItem."""
        values = self._get(keys.api_key_pk(sha256), keys.META)
        if values is None:
            return None
        found = values["pk"].removeprefix(keys.api_key_pk(""))
        return ApiKey(values["tenant"], values["name"], found, values.get("expires_ms"))

    def put_api_key(self, sha256: str, key: ApiKey) -> None:
        """One PutItem."""
        values = {"tenant": key.tenant, "name": key.name, "expires_ms": key.expires_ms}
        self._put(keys.api_key_pk(sha256), keys.META, values)

    def tenant(self, tenant: str) -> Mapping[str, Any] | None:
        """One GetItem."""
        return tenant_record(self._client, self._table, self._pace, tenant)

    def put_tenant(self, tenant: str, record: Mapping[str, Any]) -> None:
        """One PutItem."""
        self._put(keys.tenant_pk(tenant), keys.META, {"record": compact(dict(record))})

    def agent(self, tenant: str, agent_id: str) -> AgentRecord | None:
        """One GetItem, and one GET where a large definition is not at hand."""
        values = self._get(keys.agents_pk(tenant), keys.agent_sk(agent_id))
        if values is None:
            return None
        blob = values.get("blob")
        text = self._blobs.get(BlobPlace(**blob)).decode() if blob else unpack(values["definition"])
        secret = values.get("worker_secret")
        return AgentRecord(
            agent_id=agent_id,
            definition=loads(text),
            sha256=values["sha256"],
            worker_secret=loads(secret) if secret else None,
            updated_ms=values["updated_ms"],
        )

    def put_agent(self, tenant: str, record: AgentRecord) -> Literal["created", "updated"]:
        """One PutItem, and one PUT before it for a large definition."""
        secret = record.worker_secret
        values: dict[str, Any] = {
            "sha256": record.sha256,
            "worker_secret": None if secret is None else compact(dict(secret)),
            "updated_ms": record.updated_ms,
            "model": record.definition.get("model"),
        }
        text = compact(dict(record.definition))
        body = text.encode()
        if len(body) > INLINE_DEFINITION_BYTES:
            sha256 = hashlib.sha256(body).hexdigest()
            place = self._blobs.put(keys.agent_object(tenant, record.agent_id, sha256), body)
            values["blob"] = place.model_dump()
        else:
            values["definition"] = pack(text)
        before = self._put(keys.agents_pk(tenant), keys.agent_sk(record.agent_id), values)
        return "updated" if before else "created"

    def delete_agent(self, tenant: str, agent_id: str) -> bool:
        """One DeleteItem; sessions keep the version that they pinned."""
        return self._delete(keys.agents_pk(tenant), keys.agent_sk(agent_id))

    def agents(self, tenant: str, after: str, limit: int) -> AgentPage:
        """One Query; a page ends at a MB, definitions counted."""
        values = {":pk": keys.agents_pk(tenant), ":after": keys.agent_sk(after)}
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :pk AND sk > :after",
                    ExpressionAttributeValues=to_item(values),
                    ProjectionExpression="sk, model, updated_ms",
                    ConsistentRead=True,
                    Limit=limit,
                ),
            )
        found = [from_item(item) for item in answer["Items"]]
        lines = tuple(
            AgentLine(keys.agent_of(one["sk"]), one.get("model", ""), one["updated_ms"])
            for one in found
        )
        return AgentPage(lines, lines[-1].agent_id if "LastEvaluatedKey" in answer else "")

    def connection(self, connection_id: str) -> Connection | None:
        """One GetItem."""
        values = self._get(keys.connection_pk(connection_id), keys.META)
        if values is None:
            return None
        kept = sorted(loads(one) for one in values.get("sessions", ()))
        sessions = tuple((session, subscription) for session, subscription in kept)
        return Connection(from_fields(values), values["expires_epoch_s"], sessions)

    def put_connection(self, connection_id: str, caller: Caller, expires_epoch_s: int) -> None:
        """One PutItem."""
        values = {**to_fields(caller), "expires_epoch_s": expires_epoch_s}
        self._put(keys.connection_pk(connection_id), keys.META, values)

    def renew_connection(
        self, connection_id: str, before: Caller, after: Caller, expires_epoch_s: int
    ) -> bool:
        """One UpdateItem."""
        ((old_name, old),) = to_fields(before).items()
        ((new_name, new),) = to_fields(after).items()
        removal = "" if old_name == new_name else " REMOVE #before"
        values = {":old": old, ":new": new, ":expires": expires_epoch_s}
        return self._update_connection(
            connection_id,
            UpdateExpression=f"SET #after = :new, expires_epoch_s = :expires{removal}",
            ConditionExpression="#before = :old OR #after = :new",
            ExpressionAttributeNames={"#before": old_name, "#after": new_name},
            ExpressionAttributeValues=to_item(values),
        )

    def note_subscription(self, connection_id: str, session: str, subscription: str) -> None:
        """One UpdateItem; a connection that has gone is not brought back."""
        self._change_sessions("ADD", connection_id, compact([session, subscription]))

    def forget_subscription(self, connection_id: str, session: str, subscription: str) -> None:
        """One UpdateItem; a connection that has gone is not brought back."""
        self._change_sessions("DELETE", connection_id, compact([session, subscription]))

    def _change_sessions(
        self, action: Literal["ADD", "DELETE"], connection_id: str, one: str
    ) -> None:
        self._update_connection(
            connection_id,
            UpdateExpression=f"{action} #sessions :one",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeNames={"#sessions": "sessions"},
            ExpressionAttributeValues=to_item({":one": frozenset({one})}),
        )

    def _update_connection(self, connection_id: str, **change: Any) -> bool:
        """Update a connection if its condition holds; returns whether it did."""
        key = to_item({"pk": keys.connection_pk(connection_id), "sk": keys.META})
        stands = if_holds(
            self._pace,
            lambda: self._client.update_item(TableName=self._table, Key=key, **change),
        )
        return stands is None

    def delete_connection(self, connection_id: str) -> None:
        """One DeleteItem."""
        self._delete(keys.connection_pk(connection_id), keys.META)

    def _get(self, pk: str, sk: str) -> dict[str, Any] | None:
        return values_at(self._client, self._table, self._pace, pk, sk)

    def _put(self, pk: str, sk: str, values: Mapping[str, Any]) -> bool:
        """Write an item; returns whether it replaced one."""
        item = to_item({"pk": pk, "sk": sk, "format": FORMAT, **values})
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.put_item(
                    TableName=self._table, Item=item, ReturnValues="ALL_OLD"
                ),
            )
        return bool(answer.get("Attributes"))

    def _delete(self, pk: str, sk: str) -> bool:
        """Delete an item; returns whether there was one."""
        with dynamo_errors():
            answer = when_free(
                self._pace,
                lambda: self._client.delete_item(
                    TableName=self._table,
                    Key=to_item({"pk": pk, "sk": sk}),
                    ReturnValues="ALL_OLD",
                ),
            )
        return bool(answer.get("Attributes"))

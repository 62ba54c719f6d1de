"""Text <-> what is stored of it: as it is while short, else zlib with a dictionary of our words.

It must not know what the text says. The dictionary halves an ordinary commit, which keeps its item
below one KB and so its price at the least that there is. It is for ever: a stream names the one it
was made with (RFC 1950, DICTID), so a better one is added beside it, never put in its place.
"""

from __future__ import annotations

import zlib
from typing import Final

PLAIN_BYTES: Final = 512
"""Text up to this size is stored as it is: legible, and a smaller one would cost the same."""

_WORDS: Final = (
    # the head's state
    '{"session_id":"","agent_id":"","owner_id":"default","decides":"worker","last_outcome":"done",'
    '"header_seq":10,"header_sha":"","state_seq":0,"agent_seq":5,"agent_sha":"","route":"/32000",'
    '"turns":1,"head":{"id":"","seq":9,"branch":0,"depth":2},"window":{"from_seq":,"from_bytes":,'
    '"total_bytes":,"marks":[{"seq":2,"before_bytes":0},{"seq":,"before_bytes":}]},'
    '"turn":{"id":"","number":1,"first_seq":2,"stream":true,"step":1,"step_call":"",'
    '"step_attempt":1,"model_calls":1,"stalled":true,"truncated":true,"usage":{},"cost":"0.00"},'
    '"decisions":[{"id":"","trigger":"tool.finished","seq":,"call_id":"","status":"live",'
    '"attempt":1,"dispatched_seq":,"first_ms":17,"deadline_ms":17}],'
    '"calls":[{"id":"","kind":"tool_call","seq":,"retry":{"timeout_secs":60.0},'
    '"status":"retry_scheduled","attempt":1,"name":"","handler":"client","effect":"read",'
    '"kind":"llm_call","depth":1,"status":"pending","next_attempt_at_ms":17,"turn_id":""},'
    # rare events
    '{"type":"turn.stalled"},{"type":"call.settle_ignored","reason":""},'
    '{"type":"call.voided","kind":"sub_agent","reason":"cancelled",'
    '"private":{"outcome_unknown":true}},'
    '{"type":"llm.call.aborted","partial_text":""},{"type":"decision.dropped","reason":""},'
    '{"type":"decision.errored","error":"","code":"timeout","retryable":false,"detail":{}},'
    '{"type":"llm.call.errored","next_attempt_at_ms":17},{"type":"tool.call.errored","truncated":true,'
    '{"type":"worker.state.updated","state":{"anchor":{"branch":0,"depth":'
    '{"type":"decision.dispatched","attempt":1,"deadline_ms":17,"private":{"started_ms":17,'
    '"as_of":{"seq":,"head_id":"","calls":[],"state_seq":0,"agent_seq":5}}},'
    '"outcome":"failed","error":{"message":"","code":""}},"handler":"worker",'
    # an agent and a request's header
    '{"type":"agent.updated","agent":{"id":"","name":"","description":"",'
    '"instructions":"You are a ",'
    '"model":"openai:gpt-anthropic:claude-","tools":[{"name":"get_","description":"",'
    '"input":{"type":"object","properties":{"":{"type":"string","description":"The "},'
    '"type":"integer"},"required":["","additionalProperties":false},"effect":"read"}]},'
    '"private":{"sha256":""}},{"type":"request.header","header":{"config":{"provider":"","model":"",'
    '"temperature":0,"max_tokens":4096,"reasoning":"medium"},"system":"","tools":[]},'
    '"reason":"initial","change","resume","sha256":""},'
    # messages
    '{"id":"","role":"system","content":[{"type":"text","text":"image"}]},'
    '{"role":"tool","tool_call_id":"","name":"","content":"{"tool_calls":[{"id":"",'
    '"type":"function","function":{"name":"","arguments":"{\\"\\":\\"\\"}"}}]},'
    '{"role":"assistant","content":""},{"role":"user","content":""},'
    # a tool
    '{"type":"tool.call.requested","id":"","name":"","arguments":"{}","retry":{"timeout_secs":60.0},'
    '"anchor":{"branch":0,"depth":2},"llm_call_id":"","private":{"effect":"read","overlap":true}},'
    '{"type":"tool.call.dispatched","attempt":1,"deadline_ms":17},'
    '{"type":"tool.call.completed","name":"","attempt":1,"result":""},'
    '{"type":"decision.queued","turn_id":"","id":"","trigger_type":"tool.execute","call_id":""},'
    '"trigger_type":"tool.finished","refs":{"message.content":{"from":{"seq":,"field":"result"}}},'
    # a turn from its beginning to its end, as most are
    '[{"type":"session.created","session_id":"","agent_id":"","owner":{"id":"default"},'
    '"private":{"decides":"worker"}},{"type":"turn.started","turn_id":"","input_type":"message",'
    '"stream":true},{"type":"decision.queued","turn_id":"","id":"","trigger_type":"session.start"},'
    '{"type":"decision.queued","turn_id":"","id":"","trigger_type":"client.input","news":['
    '{"id":"","role":"user","content":""}]},{"type":"turn.admitted","turn_id":"","turn":1,'
    '"trigger":"user"},{"type":"message.new","turn_id":"","refs":{"message":{"from":{"seq":6,'
    '"field":"news.0"}}},"id":"","private":{"source":{"kind":"user"},"depth":1,"size_bytes":1}},'
    '{"type":"request.context","turn_id":"","provider":"","model":"","context_window":200000},'
    '{"type":"llm.call.requested","turn_id":"","id":"","model":"","stream":true,'
    '"retry":{"timeout_secs":300.0,"max_retries":3,"backoff_base_secs":1.0,'
    '"backoff_max_secs":30.0},"anchor":{"branch":0,"depth":1},"private":{"header_seq":10,'
    '"boundary":{"head_id":"","head_seq":9,"from_seq":1},"derivation":1,"request_sha256":""}},'
    '{"type":"llm.call.dispatched","turn_id":"","id":"","attempt":1,"deadline_ms":17},'
    '{"type":"step.started","turn_id":"","step":1,"call_id":"","attempt":1}]'
    '[{"type":"llm.call.completed","turn_id":"","id":"","attempt":1,"message":{"id":"",'
    '"role":"assistant","content":""},"finish_reason":"tool_calls","finish_reason":"stop",'
    '"usage":{"input_tokens":1,"output_tokens":1,"cache_read_tokens":1,"cache_write_tokens":1,'
    '"reasoning_tokens":1},"cost":"0.00"},{"type":"decision.queued","turn_id":"","id":"",'
    '"trigger_type":"llm.finished","call_id":""},{"type":"decision.completed","turn_id":"","id":""},'
    '{"type":"message.new","turn_id":"","refs":{"message":{"from":{"seq":15,"field":"message"}}},'
    '"id":"","parent_id":"","private":{"source":{"kind":"model","provider":"","model":""},'
    '"depth":2,"parent_seq":9,"size_bytes":1}},{"type":"step.ended","turn_id":"","step":1,'
    '"call_id":"","attempt":1},{"type":"turn.completed","turn_id":"","outcome":"done",'
    '"usage":{"input_tokens":1,"output_tokens":1}},{"type":"session.done","turn_id":""}]'
)

_DICTIONARIES: Final = {zlib.adler32(words): words for words in (_WORDS.encode(),)}
"""By the number that a stream names; the last one is used for writing."""

NEWEST: Final = list(_DICTIONARIES)[-1]

_DICTID = slice(2, 6)
"""Where a zlib stream names its dictionary. Source: RFC 1950, 2.2."""


def pack(text: str) -> str | bytes:
    """Return `text`, or its compressed form where it is long and that is shorter."""
    if len(text) <= PLAIN_BYTES:
        return text
    plain = text.encode()
    packed = deflate(plain)
    return packed if len(packed) < len(plain) else text


def unpack(stored: str | bytes) -> str:
    """Return what `pack` was given."""
    return stored if isinstance(stored, str) else inflate(stored).decode()


def deflate(plain: bytes) -> bytes:
    """Return `plain` as a zlib stream with the newest dictionary."""
    stream = zlib.compressobj(level=9, zdict=_DICTIONARIES[NEWEST])
    return stream.compress(plain) + stream.flush()


def inflate(packed: bytes) -> bytes:
    """Return what `deflate` was given, with this dictionary or an earlier one."""
    words = _DICTIONARIES[int.from_bytes(packed[_DICTID], "big")]
    stream = zlib.decompressobj(zdict=words)
    return stream.decompress(packed) + stream.flush()

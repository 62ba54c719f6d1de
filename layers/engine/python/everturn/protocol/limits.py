"""Every limit of the wire and of the services under it, as named figures with their source.

It must not check anything: the module that owns a thing compares it with its limit.
"""

KIB = 1024
MIB = 1024 * KIB

# ids and JSON

MAX_ID_CHARS = 200
"""Source: decision protocol M-6, O-9."""

MAX_JSON_DEPTH = 128
"""Containers inside each other in JSON that is read; below what any serialiser here can write."""

# providers and models in a tenant's record, or in that of all tenants

MAX_PROVIDERS = 50
"""Providers that one record configures."""

MAX_LISTED_MODELS = 200
"""Models that one record adds or replaces."""

MAX_ALIASES = 200
"""Aliases of one record."""

MAX_MODELS_BYTES = 128 * KIB
"""All that one record says of providers and models, as compact JSON; an item has 400 KiB."""

MAX_MODEL_ID_CHARS = 256
"""A model's id, or a selector: an ARN of an inference profile fits."""

MAX_PROVIDER_NAME_CHARS = 100
"""What people read of a provider, a model or an effort."""

MAX_PROVIDER_HEADERS = 16
"""Headers that a provider is sent beside the adapter's own."""

MAX_PROVIDER_HEADER_CHARS = 1024
"""The value of one of them."""

# decision protocol, section 23 as O-16 amends it

MAX_INPUT_BODY_BYTES = 4 * MIB
"""A client's request body; over it 413. Source: section 23, O-16, architecture.md 5."""

MAX_DECISION_BODY_BYTES = 8 * MIB
"""A worker's whole answer; over it an invalid response. Source: section 23."""

MAX_DELIVERY_BYTES = 20 * MIB
"""A request to an HTTPS worker; over it the call fails. Source: storage-and-commits, "Streams"."""

MAX_SSE_FRAME_BYTES = 1 * MIB
"""One frame of a worker's streamed answer. Source: section 23."""

MAX_VIEW_MESSAGES = 2000
"""Messages in one view; over it 400. Source: section 23."""

MAX_ACTIONS = 128
"""Actions in one response. Source: section 23."""

MAX_OPEN_CALLS = 256
"""Open calls of a session; over it `too_many_calls`. Source: section 23."""

MAX_TOOLS = 256
"""Tools and sub-agents of a config together. Source: section 23."""

MAX_TOOL_NAME_CHARS = 64
"""Source: section 23."""

MAX_ARGUMENTS_BYTES = 1 * MIB
"""Tool arguments as text; over it a terminal tool error. Source: section 23."""

MAX_RESULT_BYTES = 2 * MIB
"""A tool result as text; over it a terminal tool error. Source: O-16."""

MAX_STATE_BYTES = 2 * MIB
"""Agent state as compact JSON. Source: O-16."""

MAX_AGENT_BYTES = 2 * MIB
"""An agent config as compact JSON. Source: O-16."""

MAX_REASON_BYTES = 1 * KIB
"""An interrupt's reason, or why a question is declined, UTF-8. Source: section 23."""

# tools that ask and tools that take long

MAX_QUESTION_BYTES = 16 * KIB
"""A question that a tool asks its user, UTF-8."""

MAX_CHOICES = 100
"""Answers that a question offers."""

MAX_CHOICE_BYTES = 1 * KIB
"""One of them, UTF-8."""

MAX_ANSWER_BYTES = 64 * KIB
"""A user's answer to a question, UTF-8."""

MAX_TASK_ID_BYTES = 1 * KIB
"""How a worker names a task, UTF-8."""

MIN_POLL_SECONDS = 1
"""Shortest interval between two polls of a task, the longest is `MAX_POLICY_SECS`.

Source: agent-session.md 12.
"""

MAX_PAYLOAD_BYTES = 256 * KIB
"""An interrupt's payload as compact JSON. Source: section 23."""

MAX_DONE_DATA_BYTES = 1 * MIB
"""`done.data` as compact JSON. Source: section 23."""

MAX_SPAWN_DEPTH = 5
"""Ancestors of a session that may still spawn. Source: B-4."""

MAX_LLM_CALLS_PER_TURN = 200
"""Source: section 23."""

# guards of a turn: agent-runs, section 8

DEFAULT_LOOP_NUDGE = 3
"""Identical batches of calls in a row before the model is nudged. Source: agent-runs 8.1."""

DEFAULT_LOOP_CUTOFF = 6
"""Identical batches in a row before a last model call without tools. Source: agent-runs 8.1."""

MAX_LOOP_THRESHOLD = 100
"""Largest of the two. Source: agent-runs 8.1."""

MAX_TOOL_BUDGETS = 32
"""Tools with a budget of calls. Source: agent-runs 8.2."""

MAX_BUDGETED_NAME_CHARS = 120
"""Name of such a tool. Source: agent-runs 8.2."""

MAX_BUDGETED_CALLS = 1000
"""Largest budget of calls. Source: agent-runs 8.2."""

MAX_TOOL_TURNS = 100
"""Largest number of replies of a turn that may ask for tools. Source: agent-runs.md."""

DEFAULT_OUTPUT_REPAIRS = 2
"""How often an answer that breaks its schema is asked for again. Source: field case F26."""

MAX_OUTPUT_REPAIRS = 10
"""Largest such number."""

MAX_SHOWN_SCHEMA_BYTES = 4 * KIB
"""An output schema up to this size is quoted to a model that broke it."""

MAX_FALLBACK_MODELS = 3
"""Models that an agent may fall back to; each has all attempts of the agent's policy."""

MAX_BUDGET_USD = 10**9
"""Largest budget in dollars; with 12 decimals it is far below what the table's numbers hold."""

MAX_BUDGET_TOKENS = 10**15
"""Largest budget in tokens; JSON readers keep it exactly."""

MAX_BUDGET_REQUEST_BYTES = 4 * KIB
"""The request that sets budgets; over it 413."""

MAX_SETTINGS_BYTES = 16 * KIB
"""Session settings as compact JSON. Source: agent-session.md 17."""

MAX_UPLOAD_BYTES = 100 * MIB
"""One uploaded file; over it 413. It goes to the bucket directly, past every limit below."""

MAX_UPLOAD_REQUEST_BYTES = 16 * KIB
"""The request that asks for an upload; over it 413."""

MAX_UPLOADS_REFERRED = 50
"""Uploads that one input refers to: each is looked up before the answer."""

MAX_FILENAME_BYTES = 255
"""Name of an uploaded file, UTF-8; escaped it fits S3's 2 KB of metadata."""

MAX_CONTENT_TYPE_CHARS = 200
"""Content type of an uploaded file."""

MAX_TOKEN_REQUEST_BYTES = 16 * KIB
"""The request for a client token; over it 413."""

MAX_TOKEN_METADATA_BYTES = 2 * KIB
"""An owner's metadata in a token, as JSON in ASCII: with it a token stays below its own limit."""

MAX_TOKEN_CHARS = 4 * KIB
"""A client token; it has to fit a request's headers. Source: API Gateway, 10,240 bytes of them."""

DEFAULT_TOKEN_TTL_S = 600
"""How long a client token lives where nothing is asked. Source: A-3."""

MAX_TOKEN_TTL_S = 86_400
"""Longest life of a client token. Source: A-3."""

ACCESS_TOKEN_TTL_S = 3600
"""How long an access token of OAuth lives. Source: agent-runs.md, "Routes"."""

REFRESH_TOKEN_TTL_S = 30 * 86_400
"""How long a refresh token is taken."""

MAX_OAUTH_REQUEST_BYTES = 16 * KIB
"""A request for or about tokens of OAuth; over it 400."""

TOKEN_LEEWAY_S = 60
"""How long after its expiry a token is still taken. Source: A-2."""

MAX_ATTEMPTS = 100
"""Largest `max_retries` of a policy; far above any default, so that powers stay small."""

MAX_POLICY_SECS = 31_536_000
"""Largest time in a policy: one year, the life of a Standard step execution (Step Functions)."""

# runs: what a body of the agent runs API may say. Source: runs document, its sections in brackets

MAX_ECHO_BYTES = 512 * KIB
"""Agent card, server and hints of one reference: what comes back with every call. Ours: a frame has
it twice, and an answer of Lambda has to hold it."""

MAX_RUN_BODY_BYTES = 5_900_000
"""Body of a run, a message of a session or a tool result, files in base64 included.

What Lambda takes, less the rest of the event. Source: Lambda, invocation payload.
"""

MAX_INBOX = 50
"""Turns of users that wait in a session. Ours: one commit discards them all, with a record each."""

MAX_RUN_NAME_CHARS = 200
"""What a run or a session is called."""

MAX_RUN_METADATA = 16
"""Pairs of a run's or session's metadata. Source: the published clients."""

MAX_RUN_METADATA_KEY_CHARS = 64
"""A name in it."""

MAX_RUN_METADATA_VALUE_CHARS = 512
"""A value in it."""

MAX_OUTPUT_SCHEMA_BYTES = 32 * KIB
"""An output schema and its name as compact JSON. Source: [7]."""

MIN_CONSECUTIVE_THRESHOLD = 2
"""Identical batches before the nudge: one is no loop. Source: [8.1]."""

MIN_HARD_CUTOFF_THRESHOLD = 3
"""Identical batches before tools are taken away. Source: [8.1]."""

DEFAULT_TOOL_TURNS = 32
"""The same where nothing is asked. Source: agent-runs.md, "Small print"."""

MAX_SUPERVISOR_INTERVAL = 100
"""Model calls between two reviews. Source: [8.4]."""

MAX_REASONING_TRIGGER_CHARS = 50_000
"""Reasoning that calls the supervisor. Source: [8.4]."""

MAX_REASONING_TRIGGER_MS = 600_000
"""The same in time. Source: [8.4]."""

MAX_REASONING_LEVEL = 100
"""Source: [6]."""

MAX_RUN_FILES = 20
"""Files of a message, or of a tool's result. Source: [2.1.1, 5]."""

MAX_INLINE_FILES_BYTES = 4 * MIB
"""Those of them that come by value, before base64. Source: agent-runs.md, "Small print"."""

MAX_FILE_URL_CHARS = 8 * KIB
"""A link to a file; signed ones are long."""

MAX_LOCAL_ERROR_BYTES = 8 * KIB
"""Why a tool of the caller's failed, UTF-8. Source: [5]."""

LOCAL_TOOL_TIMEOUT_S = 300
"""How long a tool of the caller's is waited for. Source: [5]."""

MAX_FEEDBACK_CHARS = 8000
"""What somebody says of a run. Source: the published clients."""

MAX_SNAPSHOT_BYTES = 256 * KIB
"""What they saw when they said it, UTF-8; an item of the table has 400 KiB."""

# AWS, as architecture.md 5 lists them

DYNAMODB_ITEM_BYTES = 400 * KIB
"""Source: DynamoDB, item size."""

DYNAMODB_TRANSACTION_ITEMS = 100
"""Source: DynamoDB, TransactWriteItems."""

DYNAMODB_TRANSACTION_BYTES = 4 * MIB
"""Source: DynamoDB, TransactWriteItems."""

SQS_MESSAGE_BYTES = 1 * MIB
"""Source: SQS, message quotas."""

STEP_FUNCTIONS_PAYLOAD_BYTES = 256 * KIB
"""Source: Step Functions, task, state or execution input."""

MAX_STEP_REQUEST_BYTES = 240 * KIB
"""A request to a worker that the step machine takes along; the rest is for names beside it."""

WEBSOCKET_INBOUND_FRAME_BYTES = 32 * KIB
"""Source: API Gateway, WebSocket frame size."""

WEBSOCKET_OUTBOUND_BYTES = 128 * KIB
"""Source: API Gateway, WebSocket message payload."""

LAMBDA_PAYLOAD_BYTES = 6 * MIB
"""Source: Lambda, synchronous invocation, request and response each."""

HTTP_API_PAYLOAD_BYTES = 10 * MIB
"""Source: API Gateway, HTTP API payload size."""

HTTP_API_TIMEOUT_S = 29
"""Source: API Gateway, HTTP API integration timeout, with a margin of one second."""

// A worker that decides, in plain JavaScript: Node 18 or newer and nothing else.
//
// It keeps one account. Small transfers are made at once, large ones when somebody has said yes,
// and `/help` is answered without a model. All else is left to what the engine proposes.
//
//     node plain.mjs [port]
//
// EVERTURN_WORKER_SECRET: deliveries must be signed with it. Without it every caller is believed.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

/**
 * @typedef {{id: string, name: string, arguments: string}} ToolCall
 * @typedef {{role: string, content?: string | object[] | null, id?: string}} Message
 * @typedef {{type: string, [field: string]: unknown}} Action
 * @typedef {{messages?: Message[], actions?: Action[], state?: unknown, agent?: object}} DecisionResponse
 * @typedef {{type: string, [field: string]: any}} Trigger
 * @typedef {{
 *   session_id: string, decision_id: string, agent_id: string, turn_id: string | null,
 *   identity: {id?: string, metadata?: Record<string, string>},
 *   trigger: Trigger, proposed: DecisionResponse, state: unknown, agent: object | null,
 *   calls: (ToolCall & {kind: string, status: string, attempt: number})[], pending_calls: number,
 *   messages: Message[], message_tree: {nodes: object[], head_id?: string}, ancestry: string[],
 *   attempts: number, deadline: string | null,
 * }} DecisionRequest
 */

const HELP = "I tell your balance and send money. From 100.00 on I ask first.";
const ASKS_FROM_CENTS = 10_000;
const MAX_AGE_S = 300;
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const SECRET = process.env.EVERTURN_WORKER_SECRET ?? "";

let cents = 100_000;

/**
 * What each call was told. A call that comes again is told the same, which makes redelivery
 * harmless. A real worker keeps this where it keeps the money, and writes both in one transaction.
 * @type {Map<string, Action>}
 */
const answers = new Map();

/** @param {DecisionRequest} request @returns {DecisionResponse} */
function decide(request) {
  const { trigger, proposed } = request;
  if (trigger.type === "client.messages" && textOf(trigger.messages.at(-1)) === "/help") {
    const messages = [...(proposed.messages ?? []), { role: "assistant", content: HELP }];
    return { messages, actions: [{ type: "done", data: HELP }] };
  }
  if (trigger.type === "tool.execute" && Object.keys(proposed).length === 0) {
    return { actions: [run(/** @type {any} */ (trigger), request.session_id)] };
  }
  if (trigger.type === "interrupt.resumed") return { actions: [resumed(request)] };
  return proposed; // what the engine would do by itself
}

/**
 * Answers a tool call, or asks somebody first. The arguments fit the tool's schema here: where
 * they do not, the engine proposes the error.
 * @param {ToolCall} call @param {string} sessionId @returns {Action}
 */
function run(call, sessionId) {
  const given = JSON.parse(call.arguments);
  if (call.name === "get_balance") return worked({ cents });
  if (given.cents < ASKS_FROM_CENTS) return transfer(`${sessionId}/${call.id}`, given);
  return {
    type: "interrupt",
    interrupt_id: `approve-${call.id}`,
    reason: "approval",
    payload: { tool: call.name, ...given },
  };
}

/** Ends the call that waited for a yes. @param {DecisionRequest} request @returns {Action} */
function resumed(request) {
  const { interrupt_id, payload } = request.trigger;
  const call = request.calls.find((one) => `approve-${one.id}` === interrupt_id);
  if (!call) throw new Error(`nothing waits for ${interrupt_id}`);
  const answer =
    payload?.approved === true
      ? transfer(`${request.session_id}/${call.id}`, JSON.parse(call.arguments))
      : failed("The user said no.");
  return { ...answer, id: call.id };
}

/** Sends money once for each key. @param {string} key @param {{to: string, cents: number}} wanted */
function transfer(key, wanted) {
  let answer = answers.get(key);
  if (!answer) {
    if (wanted.cents > cents) {
      answer = failed(`There are only ${cents} cents.`);
    } else {
      cents -= wanted.cents;
      answer = worked({ to: wanted.to, sent: wanted.cents, left: cents });
    }
    answers.set(key, answer);
  }
  return answer;
}

/** @param {unknown} result @returns {Action} */
const worked = (result) => ({ type: "tool.result", result });

/** @param {string} error what the model reads @returns {Action} */
const failed = (error) => ({ type: "tool.error", error });

/** @param {Message | undefined} message */
const textOf = (message) =>
  typeof message?.content === "string" ? message.content.trim() : undefined;

/**
 * Tells whether the two headers vouch for these very bytes, now.
 * @param {string} signature @param {string} timestamp @param {Buffer} body
 */
function vouches(signature, timestamp, body) {
  if (!SECRET) return true;
  if (!/^[0-9]{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > MAX_AGE_S) return false;
  const hex = createHmac("sha256", SECRET).update(`${timestamp}.`).update(body).digest("hex");
  const expected = Buffer.from(`sha256=${hex}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** @param {import("node:http").IncomingMessage} incoming @returns {Promise<[number, object]>} */
async function answerTo(incoming) {
  if (incoming.method === "GET") return [200, { ok: true }];
  if (incoming.method !== "POST") return [405, { error: "POST a decision request" }];
  const parts = [];
  let size = 0;
  for await (const part of incoming) {
    size += part.length;
    if (size > MAX_BODY_BYTES) return [413, { error: `send at most ${MAX_BODY_BYTES} bytes` }];
    parts.push(part);
  }
  const body = Buffer.concat(parts);
  const header = (/** @type {string} */ name) => String(incoming.headers[name] ?? "");
  if (!vouches(header("x-everturn-signature"), header("x-everturn-timestamp"), body)) {
    return [401, { error: "not signed with this worker's secret" }];
  }
  let request;
  try {
    request = JSON.parse(body.toString("utf8"));
  } catch {
    return [400, { error: "no JSON" }];
  }
  if (typeof request?.trigger?.type !== "string") return [400, { error: "no decision request" }];
  return [200, decide(request)];
}

const server = createServer((incoming, outgoing) => {
  answerTo(incoming)
    .catch((/** @type {unknown} */ error) => {
      console.error(error);
      return /** @type {[number, object]} */ ([500, { error: "internal" }]);
    })
    .then(([status, answer]) => {
      const body = JSON.stringify(answer);
      const length = Buffer.byteLength(body);
      outgoing.writeHead(status, { "content-type": "application/json", "content-length": length });
      outgoing.end(body);
    });
});

server.listen(Number(process.argv[2] ?? 8809), "127.0.0.1", () => {
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`listening on http://127.0.0.1:${address.port}/`);
});

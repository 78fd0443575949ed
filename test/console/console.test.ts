import { Script, createContext } from "node:vm";
import { expect, test } from "vitest";
import { page } from "../../src/console/page.ts";
import { script } from "../../src/console/script.ts";
import { style } from "../../src/console/style.ts";
import { FakeElement, FakeSocket, fakeDocument } from "./dom.ts";

/** The page of `/console` as a program: its frames in, its commands out. */

const session = `s_${"a".repeat(26)}`;

interface Timer {
  readonly run: () => void;
  readonly ms: number;
}

/** Loads the page at an address. Timers run when the test says so. */
function load({ hash = `#${session}`, key = "", status = 200 } = {}) {
  FakeSocket.made.length = 0;
  const { get, document } = fakeDocument(page);
  get("key").value = key;
  const timers = new Map<number, Timer>();
  const requests: { path: string; init: RequestInit }[] = [];
  let ids = 0;
  const answer = (path: string) =>
    path === "/v1/agents" ? { data: [{ name: "guide", prefix: "G" }] } : { id: session };
  const window = {
    document,
    WebSocket: FakeSocket,
    URL,
    location: { href: `https://limpet.example/console${hash}`, hash },
    history: { replaceState: () => undefined },
    crypto: { randomUUID: () => `id-${(ids += 1)}` },
    addEventListener: () => undefined,
    setTimeout: (run: () => void, ms: number) => {
      ids += 1;
      timers.set(ids, { run, ms });
      return ids;
    },
    clearTimeout: (id: number) => timers.delete(id),
    fetch: async (path: string, init: RequestInit) => {
      requests.push({ path, init });
      if (status === 0) throw new TypeError("Failed to fetch");
      const refused = { detail: "No such session." };
      return { ok: status === 200, status, json: async () => (status === 200 ? answer(path) : refused) };
    },
  };
  new Script(script).runInContext(createContext(window));
  const fireTimers = () => {
    for (const [id, { run }] of Array.from(timers)) {
      timers.delete(id);
      run();
    }
  };
  const socket = () => FakeSocket.made.at(-1) ?? new FakeSocket(new URL("wss://none"), []);
  return { get, requests, timers, fireTimers, socket };
}

const event = (seq: number, type: string, data: object = {}, more: object = {}) => ({
  type: "event",
  event: { seq, type, thread: "main", data, ...more },
});
const text = (value: string) => [{ type: "text", text: value }];
const message = (role: string, value: string, origin = "agent") => ({
  message: { role, origin, parts: text(value) },
});

function live(options: { key?: string } = {}) {
  const loaded = load(options);
  loaded.socket().open();
  loaded.socket().say({ type: "welcome" }, { type: "live", seq: 0 });
  return loaded;
}

test("AP-23: the page opens the session in its address from the first event and says that it is live", () => {
  const { socket, get } = load();
  expect(get("connection").dataset["state"]).toBe("connecting");
  expect(socket().address).toBe(`wss://limpet.example/v1/sessions/${session}/ws`);
  socket().open();
  expect(socket().sent).toEqual([{ type: "hello", after: 0, deltas: "all" }]);
  socket().say({ type: "welcome" }, { type: "live", seq: 0 });
  expect(get("connection").textContent).toBe("live");
  expect(get("send").disabled).toBe(false);
});

test("AP-13: a key travels as subprotocol, one that cannot as the first frame, never in the address", () => {
  const plain = live({ key: "lk_abc_DEF-1" });
  expect(plain.socket().protocols).toEqual(["limpet.v1", "bearer.lk_abc_DEF-1"]);
  const odd = live({ key: "a/b+c=" });
  expect(odd.socket().protocols).toEqual(["limpet.v1"]);
  expect(odd.socket().sent[0]).toEqual({ type: "auth", token: "a/b+c=" });
  expect(odd.socket().address).not.toContain("a/b");
});

test("AP-20: text streams in and is replaced by its message; a piece at the wrong place is left out", () => {
  const { socket, get } = live();
  socket().say(event(1, "llm_text", {}, { item: "i1" }));
  socket().say(
    { type: "delta", item: "i1", off: 0, data: "Hel" },
    { type: "delta", item: "i1", off: 3, data: "lo" },
  );
  socket().say({ type: "delta", item: "i1", off: 99, data: "!" });
  expect(get("log").textContent).toBe("Hello");
  expect(get("log").elements[0]?.className).toBe("assistant open");
  socket().say({ type: "item_state", item: "i1", kind: "text", text: "Hello, w" });
  socket().say({ type: "delta", item: "i1", off: 8, data: "orld" });
  expect(get("log").textContent).toBe("Hello, world");
  socket().say(event(2, "message_added", message("assistant", "Hello, world.")));
  expect(get("log").textContent).toBe("Hello, world.");
  expect(get("log").elements[0]?.className).toBe("assistant");
});

test("AP-20: an aborted attempt takes its text away", () => {
  const { socket, get } = live();
  socket().say(event(1, "llm_text", {}, { item: "i1" }), { type: "delta", item: "i1", off: 0, data: "half" });
  socket().say(event(2, "attempt_aborted", { items: ["i1"] }));
  expect(get("log").textContent).toBe("");
});

test("AP-27: a tool call shows input, streamed output, outcome and duration", () => {
  const { socket, get } = live();
  socket().say(event(1, "tool_call_start", { tool: "run", input: { command: "ls" } }, { call: "c1" }));
  socket().say({ type: "delta", item: "c1", off: 0, data: "a.txt" });
  expect(get("log").textContent).toContain("a.txt");
  socket().say(
    event(
      2,
      "tool_call_end",
      { tool: "run", outcome: "error", output: "no", duration_ms: 7 },
      { call: "c1" },
    ),
  );
  expect(get("log").querySelector("summary")?.textContent).toBe("run · error · 7 ms");
  expect(get("log").textContent).toContain('"command": "ls"');
  expect(get("log").elements[0]?.className).toContain("failure");
});

test("AP-10: a run that failed says why", () => {
  const { socket, get } = live();
  const error = { code: "refusal", detail: "the model refused", status: 422, retryable: false };
  socket().say(event(1, "run_end", { state: "failed", reason: "refusal", error }));
  expect(get("log").textContent).toContain("Run failed: the model refused");
});

test("AP-19: questions are answered by option or text, approvals approved, edited or denied", () => {
  const { socket, get } = live();
  const ask = {
    id: "a1",
    kind: "question",
    question: { text: "Which?", options: ["red", "blue"], strict: false },
  };
  socket().say(event(1, "ask_user", { ask }));
  get("asks").press("blue");
  const [input] = get("asks").elements.filter(({ tag }) => tag === "input");
  if (input !== undefined) input.value = "green";
  get("asks").press("Answer");
  expect(socket().sent.slice(1)).toMatchObject([
    { type: "answer", ask: "a1", answer: { decision: "answer", selections: ["blue"] } },
    { type: "answer", ask: "a1", answer: { decision: "answer", text: "green" } },
  ]);
  socket().say(event(2, "ask_resolved", { ask: "a1", decision: "answer" }));
  expect(get("asks").children).toEqual([]);
  const approval = { tool: "write", input: { path: "a" }, rule: "edit" };
  socket().say(event(3, "ask_user", { ask: { id: "a2", kind: "approval", approval } }));
  const area = get("asks").querySelector("textarea");
  get("asks").press("Approve");
  if (area !== null) area.value = '{"path":"b"}';
  get("asks").press("Approve as edited");
  if (area !== null) area.value = "{";
  get("asks").press("Approve as edited");
  get("asks").press("Deny");
  expect(
    socket()
      .sent.slice(3)
      .map(({ answer }) => answer),
  ).toEqual([{ decision: "approve" }, { decision: "edit", input: { path: "b" } }, { decision: "deny" }]);
  expect(get("log").textContent).toContain("not JSON");
});

/** Text with characters that show nothing, or that reverse others. */
const disguised = "cat a\u202etxt.exe\u200b\u0085\u2028\u007f\u{e0041}\nnext";
const undisguised = String.raw`cat a\u202etxt.exe\u200b\u0085\u2028\u007f\udb40\udc41`;

const approvalOf = (approval: object) => {
  const { socket, get } = live();
  socket().say(event(1, "ask_user", { ask: { id: "a1", kind: "approval", label: "a\u202eb", approval } }));
  const part = (tag: string): FakeElement => get("asks").querySelector(tag) ?? new FakeElement("none");
  const answers = () =>
    socket()
      .sent.slice(1)
      .map(({ answer }) => answer);
  const button = (text: string) =>
    get("asks").elements.find(({ tag, textContent }) => tag === "button" && textContent === text);
  return { get, part, answers, button };
};

test("★ TB-8: an approval shows control and bidi characters escaped, and what is approved or edited stays the same", () => {
  const input = { args: [disguised] };
  const remember = { tool: "exec_run", pattern: `sh ${disguised}` };
  const { get, part, answers } = approvalOf({ tool: "t\u200d", input, rule: "r\u2066", remember });
  expect(part("textarea").value).toBe(`{\n  "args": [\n    "${undisguised}${String.raw`\nnext`}"\n  ]\n}`);
  expect(part("p").textContent).toBe(String.raw`a\u202eb: Allow t\u200d? (r\u2066)`);
  expect(part("code").textContent).toBe(`exec_run sh ${undisguised}${String.raw`\u000anext`}`);
  get("asks").press("Approve as edited");
  expect(answers()).toEqual([{ decision: "edit", input }]);
});

test("★ TB-9: Approve is off once the text was changed, and on again when it is as it was", () => {
  const { get, part, answers, button } = approvalOf({ tool: "t", input: { a: 1 }, rule: "r" });
  const states = () => [button("Approve")?.disabled, button("Approve as edited")?.disabled];
  const area = part("textarea");
  const shown = area.value;
  expect(states()).toEqual([false, true]);
  area.value = '{"a": 2}';
  area.fire("input");
  expect(states()).toEqual([true, false]);
  get("asks").press("Approve");
  expect(answers()).toEqual([]);
  area.value = shown;
  area.fire("input");
  expect(states()).toEqual([false, true]);
  get("asks").press("Approve");
  expect(answers()).toEqual([{ decision: "approve" }]);
});

test("★ TB-8: an approval shows what may be remembered before it is, and offers nothing else", () => {
  const remember = { tool: "exec_run", pattern: "git push *" };
  const { get, part, answers } = approvalOf({ tool: "exec_run", input: {}, rule: "r", remember });
  expect(part("code").textContent).toBe("exec_run git push *");
  get("asks").press("Approve");
  part("select").value = "agent";
  get("asks").press("Approve");
  expect(answers()).toEqual([{ decision: "approve" }, { decision: "approve", remember: "agent" }]);
  const bare = approvalOf({ tool: "exec_shell", input: {}, rule: "r" });
  expect([bare.part("select").tag, bare.part("code").tag]).toEqual(["none", "none"]);
});

test("AP-54 EF-37: a limit that is reached is said, and raised or refused on the page, in units that people use", () => {
  const { socket, get } = live();
  const asked = (id: string, budget: object): void =>
    socket().say(
      event(get("asks").children.length + 1, "ask_user", {
        ask: { id, kind: "budget", label: "coder-fix-1", budget },
      }),
    );
  const least = 4_400;
  asked("a1", { scope: "run", kind: "max_tokens", limit: 4_300, spent: 4_000, least });
  asked("a2", { scope: "session", kind: "max_cost_usd", limit: 0.5, spent: 0.123456, least: 0.600001 });
  asked("a3", { scope: "run", kind: "max_duration", limit: 60_000, spent: 60_250, least: 90_000 });
  const [tokens, cost, time] = get("asks").children as FakeElement[];
  expect(tokens?.querySelector("p")?.textContent).toBe(
    "coder-fix-1: Limit reached: the run has used 4000 of 4300 tokens. It goes on with 4400 or more.",
  );
  expect(cost?.textContent).toContain(
    "the session has used 0.1235 of 0.5 USD. It goes on with 0.6001 or more.",
  );
  expect(time?.textContent).toContain(
    "the run has used 60.25 of 60 seconds of model time. It goes on with 90 or more.",
  );
  expect([tokens, cost, time].map((card) => card?.querySelector("input")?.value)).toEqual([
    "8600",
    "1",
    "120",
  ]);
  tokens?.press("Raise the limit");
  cost?.press("End the run");
  time?.press("Raise the limit");
  expect(
    socket()
      .sent.slice(1)
      .map(({ ask, answer }) => [ask, answer]),
  ).toEqual([
    ["a1", { decision: "approve", limit: 8_600 }],
    ["a2", { decision: "deny" }],
    ["a3", { decision: "approve", limit: 120_000 }],
  ]);
  socket().say(event(4, "ask_resolved", { ask: "a1", decision: "approve" }));
  expect(get("asks").children).toHaveLength(2);
  socket().say(event(5, "budget_reached", { scope: "run", kind: "max_tokens", limit: 4_300, spent: 4_310 }));
  expect(get("log").textContent).toContain("Limit reached: the run has used 4310 of 4300 tokens.");
});

test("AP-52 AP-6: after a cut the page resumes behind its last event and repeats unanswered commands under their ids", () => {
  const { socket, get, fireTimers, timers } = live();
  socket().say(event(1, "run_start"), event(2, "turn_start"));
  get("text").value = "go on";
  get("composer").fire("submit");
  get("text").value = "and cancel";
  get("cancel").fire("click");
  const [, send, cancel] = socket().sent;
  expect(send).toMatchObject({ type: "send", input: { content: "go on", on_busy: "" } });
  socket().say({ type: "result", id: send?.["id"], seq: 3 });
  socket().end(1006);
  expect(get("connection").dataset["state"]).toBe("waiting");
  expect([...timers.values()].every(({ ms }) => ms <= 250)).toBe(true);
  fireTimers();
  expect(FakeSocket.made).toHaveLength(2);
  socket().open();
  expect(socket().sent).toEqual([{ type: "hello", after: 2, deltas: "all" }, cancel]);
});

test("AP-52: what was seen is not shown again, and a gap reconnects", () => {
  const { socket, get, fireTimers } = live();
  socket().say(event(1, "message_added", message("user", "hi", "human")));
  socket().say(event(1, "message_added", message("user", "hi", "human")));
  expect(get("log").textContent).toBe("hi");
  socket().say(event(3, "message_added", message("user", "later", "human")));
  expect(get("log").textContent).toBe("hi");
  fireTimers();
  socket().open();
  expect(socket().sent[0]).toMatchObject({ after: 1 });
});

test("AP-52: codes that are final end the connection, others do not", () => {
  for (const [code, state] of [
    [4401, "waiting"],
    [4403, "failed"],
    [4404, "failed"],
    [4410, "failed"],
    [4413, "waiting"],
    [1012, "waiting"],
  ] as const) {
    const { socket, get } = live();
    socket().end(code);
    expect(get("connection").dataset["state"], String(code)).toBe(state);
  }
});

test("AP-52: silence is answered by a ping, and its silence by a new connection", () => {
  const { fireTimers, socket, get } = live();
  const first = socket();
  fireTimers();
  expect(first.sent.at(-1)).toEqual({ type: "ping" });
  first.say({ type: "pong" });
  fireTimers();
  expect(first.sent.filter(({ type }) => type === "ping")).toHaveLength(2);
  fireTimers();
  expect(get("connection").dataset["state"]).toBe("waiting");
  fireTimers();
  expect(socket()).not.toBe(first);
});

test("AP-26: frames are acknowledged each hundred", () => {
  const { socket } = live();
  for (let seq = 1; seq <= 205; seq += 1) socket().say(event(seq, "turn_start"));
  expect(
    socket()
      .sent.filter(({ type }) => type === "ack")
      .map(({ frames }) => frames),
  ).toEqual([100, 200]);
});

test("AP-22: frames are acknowledged each 256 KiB, however few they are", () => {
  const { socket } = live();
  const large = { output: "x".repeat(60_000) };
  for (let seq = 1; seq <= 10; seq += 1) socket().say(event(seq, "tool_call_end", large));
  const acks = socket().sent.filter(({ type }) => type === "ack");
  expect(acks.map(({ frames }) => frames)).toEqual([7, 12]);
});

test("AP-52 AP-12: a key that ran out on a live socket is tried once more, one that opens nothing is refused", () => {
  const { socket, get, fireTimers } = live();
  const first = socket();
  first.say({ type: "live", seq: 0 });
  first.end(4401);
  expect(get("connection").dataset["state"]).toBe("waiting");
  fireTimers();
  expect(socket()).not.toBe(first);
  socket().end(4401);
  expect(get("connection").dataset["state"]).toBe("failed");
});

test("AP-54 AP-12: a session that needs a key says so, and opens when the key is written", async () => {
  const { socket, get, fireTimers } = load({ status: 401 });
  socket().open();
  socket().say({
    type: "error",
    problem: { code: "invalid_request", detail: "The first frame must be auth." },
  });
  socket().end(4400);
  fireTimers();
  await new Promise(setImmediate);
  expect(FakeSocket.made).toHaveLength(1);
  expect(get("connection").dataset["state"]).toBe("failed");
  expect(get("connection").textContent).toBe("a key is needed");
  expect(get("log").textContent).not.toContain("first frame");
  get("key").value = "lk_1";
  get("key").fire("change");
  expect(FakeSocket.made).toHaveLength(2);
  expect(socket().protocols).toEqual(["limpet.v1", "bearer.lk_1"]);
});

test("AP-54 AP-52: an upgrade that is refused for good says why, one that meets no server is tried again", async () => {
  for (const [status, state, text] of [
    [401, "failed", "the key was refused"],
    [403, "failed", "No such session."],
    [404, "failed", "No such session."],
    [429, "connecting", "connecting"],
    [0, "connecting", "connecting"],
  ] as const) {
    const { socket, get, fireTimers } = load({ key: "lk_old", status });
    socket().end(1006);
    fireTimers();
    await new Promise(setImmediate);
    expect(get("connection").dataset["state"], String(status)).toBe(state);
    expect(get("connection").textContent, String(status)).toBe(text);
  }
});

test("AP-54: what waits for its turn is shown as it was written", () => {
  const { socket, get } = live();
  socket().say(event(1, "input_accepted", { input: "in_2", content: text("then paint it") }));
  expect(get("log").textContent).toBe("waiting: then paint it");
  socket().say(event(2, "input_applied", { input: "in_2" }));
  expect(get("log").textContent).toBe("");
});

test("AP-54: Enter sends what was written, but not while it still chooses a word of an input method", () => {
  const { socket, get } = live();
  let asked = 0;
  Object.assign(get("composer"), { requestSubmit: () => (asked += 1) });
  get("text").fire("keydown", { key: "Enter", isComposing: true });
  get("text").fire("keydown", { key: "Enter", shiftKey: true });
  expect(asked).toBe(0);
  get("text").fire("keydown", { key: "Enter" });
  expect(asked).toBe(1);
  expect(socket().sent).toHaveLength(1);
});

test("AP-23: a snapshot replaces what was shown and sets the cursor", () => {
  const { socket, get, fireTimers } = live();
  socket().say(event(1, "message_added", message("user", "old", "human")));
  const snapshot = { seq: 40, messages: [message("assistant", "new").message], asks: [] };
  socket().say({ type: "snapshot", snapshot });
  expect(get("log").textContent).toBe("new");
  socket().end(1006);
  fireTimers();
  socket().open();
  expect(socket().sent[0]).toMatchObject({ after: 40 });
});

test("AP-16: a new session is created once, for the chosen agent, and opened", async () => {
  const { get, requests } = load({ hash: "", key: "k" });
  expect(FakeSocket.made).toEqual([]);
  get("agent").value = "guide";
  get("opening").fire("submit");
  await new Promise(setImmediate);
  const created = requests.find(({ path }) => path === "/v1/sessions");
  expect(created?.init).toMatchObject({
    method: "POST",
    body: '{"agent":"guide"}',
    headers: { Authorization: "Bearer k", "Idempotency-Key": expect.any(String) },
  });
  expect(FakeSocket.made).toHaveLength(1);
  expect(get("agent").children).toHaveLength(1);
});

test("RE-T31: the page has no inline code or style, and its program no way to write markup", () => {
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>|\son\w+=|style=|javascript:/i);
  expect(page).not.toMatch(/https?:\/\//);
  expect(script).not.toMatch(
    /innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|setAttribute|\.src\b|\.href\s*=|localStorage|sessionStorage|cookie/,
  );
  expect(style).not.toMatch(/url\(|@import|expression/);
  expect(new FakeElement("p").querySelector("script")).toBeNull();
});

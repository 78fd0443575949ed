/** Shows messages, streamed text and tool calls. Everything foreign becomes a text node. */
export const viewScript = String.raw`
const byId = (id) => document.getElementById(id);
const log = byId("log");
const asks = byId("asks");
let connection = null;
let items = new Map();
let calls = new Map();
let waiting = new Map();
/** Whom an event is of, if not of the session's own agent. */
let called = "";

function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Changes the log and stays at its end if it was there. */
function following(change) {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  change();
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function show(made) {
  if (called !== "") made.dataset.agent = called;
  following(() => log.append(made));
  return made;
}

const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const note = (text, kind = "note") => show(element("div", kind, text));

function folded(title, text, open) {
  const made = element("details");
  made.open = open;
  made.append(element("summary", "", title), element("pre", "", text));
  return made;
}

const textIn = (parts) => parts.filter((part) => part.type === "text").map((part) => part.text).join("");

function showMessage(message) {
  const text = textIn(message.parts);
  const reasoning = message.parts.filter((part) => part.type === "reasoning").map((part) => part.text).join("");
  if (message.role === "assistant" && reasoning !== "") show(folded("reasoning", reasoning, false));
  if (message.role === "tool" || text === "") return;
  show(element("div", message.role === "user" && message.origin !== "human" ? "note" : message.role, text));
}

/** Streamed text until the event that holds the whole of it. */
function openItem(event, kind) {
  if (!event.item || items.has(event.item)) return;
  for (const item of items.values()) if (item.thread === event.thread) item.made.classList.toggle("open", false);
  const made = kind === "text" ? show(element("div", "assistant open")) : show(folded(kind, "", true));
  const text = kind === "text" ? made : made.querySelector("pre");
  items.set(event.item, { made, text, length: 0, thread: event.thread });
}

function closeItems(wanted) {
  for (const [id, item] of items) {
    if (!wanted(id, item)) continue;
    item.made.remove();
    items.delete(id);
  }
}

function openCall(event) {
  const made = show(folded(event.data.tool, pretty(event.data.input), false));
  const output = element("pre");
  made.append(output);
  calls.set(event.call, { made, output });
  items.set(event.call, { made: output, text: output, length: 0, thread: event.thread, tool: true });
}

function closeCall(event) {
  const { tool, outcome, output, duration_ms } = event.data;
  const known = calls.get(event.call) ?? { made: show(folded(tool, "", false)), output: null };
  items.delete(event.call);
  known.made.querySelector("summary").textContent = tool + " · " + outcome + " · " + duration_ms + " ms";
  (known.output ?? known.made.querySelector("pre")).textContent = pretty(output);
  known.made.classList.toggle("failure", outcome === "error" || outcome === "unknown");
}

function button(text, act) {
  const made = element("button", "", text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** Inputs that are stored and that no run has taken up yet. */
function noLongerWaiting(input) {
  waiting.get(input)?.remove();
  waiting.delete(input);
}

const status = (text) => (byId("status").textContent = text);

const events = {
  run_start: () => status("running"),
  run_waiting: ({ data }) => status("waiting for " + data.on.map((reason) => reason.kind).join(", ")),
  run_resumed: () => status("running"),
  run_end: ({ data }) => {
    status("idle · " + data.reason);
    const why = data.error?.detail ?? data.error ?? data.reason;
    if (data.state !== "completed") note("Run " + data.state + (why === data.state ? "" : ": " + why), "failure");
  },
  input_accepted: ({ data }) => waiting.set(data.input, note("waiting: " + (textIn(data.content) || data.input))),
  input_applied: ({ data }) => noLongerWaiting(data.input),
  input_withdrawn: ({ data }) => noLongerWaiting(data.input),
  input_returned: ({ data }) => noLongerWaiting(data.input) || note("returned " + data.input + ": " + data.reason),
  llm_text: (event) => openItem(event, "text"),
  llm_reasoning: (event) => openItem(event, "reasoning"),
  llm_tool_prepare: (event) => openItem(event, "preparing " + event.data.tool),
  attempt_aborted: ({ data }) => closeItems((id) => data.items.includes(id)),
  message_added: ({ data, thread }) => {
    if (data.message.role === "assistant") closeItems((_, item) => item.thread === thread && !item.tool);
    showMessage(data.message);
  },
  tool_call_start: openCall,
  tool_call_end: closeCall,
  file_change: ({ data }) => note(data.op + " " + data.path),
  ask_user: ({ data }) => showAsk(data.ask),
  ask_resolved: ({ data }) => closeAsk(data.ask),
  ask_expired: ({ data }) => closeAsk(data.ask),
  ask_cancelled: ({ data }) => closeAsk(data.ask),
  budget_reached: ({ data }) => note("Limit reached: " + spentText(data), "failure"),
  error: ({ data }) => note(data.code + ": " + data.message, "failure"),
};

function clear() {
  log.replaceChildren();
  asks.replaceChildren();
  items = new Map();
  calls = new Map();
  waiting = new Map();
}

const frames = {
  event: ({ event }) => {
    called = event.thread === "main" ? "" : event.agent.prefix + " " + event.agent.name;
    if (called === "" || !/^run_/.test(event.type)) events[event.type]?.(event);
    called = "";
  },
  delta: ({ item, off, data }) => {
    const known = items.get(item);
    if (known === undefined || known.length !== off) return;
    following(() => known.text.append(data));
    known.length += data.length;
  },
  item_state: (frame) => {
    openItem(frame, frame.kind);
    const known = items.get(frame.item);
    if (known === undefined) return;
    known.text.textContent = frame.text;
    known.length = frame.text.length;
  },
  snapshot: ({ snapshot: { messages, asks: open } }) => {
    clear();
    messages.forEach(showMessage);
    open.forEach(showAsk);
  },
  error: ({ problem }) => note(problem.code + ": " + problem.detail, "failure"),
};

const headers = () => {
  const key = byId("key").value;
  return key === "" ? {} : { Authorization: "Bearer " + key };
};

async function request(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail);
  return body;
}

/** Why a session can never be opened with this key; null if another try may help. */
async function refusalOf(id) {
  try {
    const response = await fetch("/v1/sessions/" + id, { headers: headers() });
    if (response.status === 401) return byId("key").value === "" ? "a key is needed" : "the key was refused";
    return [403, 404, 410].includes(response.status) ? (await response.json()).detail : null;
  } catch {
    return null;
  }
}

function openSession(id) {
  connection?.close();
  clear();
  history.replaceState(null, "", "#" + id);
  byId("session").textContent = id;
  for (const name of ["text", "send", "cancel"]) byId(name).disabled = false;
  connection = connect(id, {
    key: () => byId("key").value,
    refusal: () => refusalOf(id),
    frame: (frame) => frames[frame.type]?.(frame),
    state: (name, text) => {
      byId("connection").dataset.state = name;
      byId("connection").textContent = text;
    },
  });
}

async function createSession() {
  const agent = byId("agent").value;
  const body = JSON.stringify(agent === "" ? {} : { agent });
  const { id } = await request("/v1/sessions", {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
    body,
  });
  openSession(id);
}

async function listAgents() {
  const [{ data }, { entry_agent }] = await Promise.all([request("/v1/agents"), request("/v1/capabilities")]);
  byId("agent").replaceChildren(
    ...data.map(({ name, prefix }) => {
      const option = element("option", "", prefix + " " + name);
      option.value = name;
      option.selected = name === entry_agent;
      return option;
    }),
  );
}

const reporting = (work) => work().catch((fault) => note(fault.message, "failure"));

byId("opening").addEventListener("submit", (event) => {
  event.preventDefault();
  reporting(createSession);
});
byId("key").addEventListener("change", () => {
  connection?.again();
  reporting(listAgents);
});
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const content = byId("text").value;
  if (content.trim() === "") return;
  connection.command({ type: "send", input: { content, on_busy: byId("busy").value } });
  byId("text").value = "";
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("composer").requestSubmit();
});
byId("cancel").addEventListener("click", () => connection.command({ type: "cancel", cancel: { mode: "now" } }));

reporting(listAgents);
const remembered = location.hash.slice(1);
if (/^s_[a-z2-7]{26}$/.test(remembered)) openSession(remembered);
`;

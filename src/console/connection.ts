/**
 * Keeps the page's connection: a WebSocket that resumes after the last event it applied, acknowledges what it
 * received, and resends unanswered commands under their ids.
 */
export const connectionScript = String.raw`
const firstDelay = 250;
const longestDelay = 10_000;
const pingEvery = 15_000;
const pongWithin = 10_000;
const framesPerAck = 100;
const charactersPerAck = 256 * 1024;
const subprotocolToken = /^[A-Za-z0-9._~+-]+$/;
const finalCodes = {
  4403: "this key may not watch the session",
  4404: "there is no such session",
  4410: "the session was deleted",
  4426: "this page is too old: reload it",
};

/** Opens a session's stream. on: key(), refusal() = why it can never be opened or null, frame(frame), state(name, text). */
function connect(session, on) {
  let socket = null;
  let last = 0;
  let failures = 0;
  let received = 0;
  let unacked = 0;
  let characters = 0;
  let admitted = false;
  let welcome = false;
  let timer = 0;
  let ended = false;
  const pending = new Map();

  const state = (name, text) => on.state(name, text ?? name);
  const transmit = (frame) => socket.send(JSON.stringify(frame));

  function open() {
    clearTimeout(timer);
    state("connecting");
    received = 0;
    unacked = 0;
    characters = 0;
    admitted = false;
    welcome = false;
    const key = on.key();
    const address = new URL("/v1/sessions/" + session + "/ws", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const byProtocol = key !== "" && subprotocolToken.test(key);
    const made = new WebSocket(address, byProtocol ? ["limpet.v1", "bearer." + key] : ["limpet.v1"]);
    socket = made;
    made.addEventListener("open", () => {
      if (key !== "" && !byProtocol) transmit({ type: "auth", token: key });
      transmit({ type: "hello", after: last, deltas: "all" });
      for (const frame of pending.values()) transmit(frame);
      watchPulse(made);
    });
    made.addEventListener("message", ({ data }) => {
      if (made === socket) receive(data);
    });
    made.addEventListener("close", ({ code }) => {
      if (made === socket) closed(code);
    });
  }

  function watchPulse(made) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      transmit({ type: "ping" });
      timer = setTimeout(() => {
        made.close();
        if (made === socket) closed(1006);
      }, pongWithin);
    }, pingEvery);
  }

  function closed(code) {
    clearTimeout(timer);
    socket = null;
    if (ended) return;
    // A key that was good enough is asked for once more: sockets end before keys do.
    if (code === 4401 && !admitted) return state("failed", "the key was refused");
    if (Object.hasOwn(finalCodes, code)) return state("failed", finalCodes[code]);
    const delay = Math.random() * Math.min(longestDelay, firstDelay * 2 ** failures);
    failures += 1;
    state("waiting", "reconnecting");
    timer = setTimeout(welcome ? open : openUnlessRefused, delay);
  }

  /** A browser does not tell a page why an upgrade was refused. */
  async function openUnlessRefused() {
    const why = await on.refusal();
    if (ended || socket !== null) return;
    if (why === null) open();
    else state("failed", why);
  }

  function again() {
    if (socket === null && !ended) open();
  }

  /** Each durable event is applied once and in order; a gap means that the stream must begin again. */
  function inOrder(frame) {
    if (frame.type === "snapshot") last = frame.snapshot.seq;
    if (frame.type !== "event") return true;
    const { seq } = frame.event;
    if (seq <= last) return false;
    if (seq > last + 1) {
      socket.close();
      return false;
    }
    last = seq;
    return true;
  }

  function receive(data) {
    const message = JSON.parse(data);
    const frames = Array.isArray(message) ? message : [message];
    for (const frame of frames) {
      if (frame.type === "welcome") welcome = true;
      if (frame.type === "error" && !welcome) continue;
      if (frame.type === "live") {
        failures = 0;
        admitted = true;
        state("live");
      }
      if (frame.type === "result" || frame.type === "error") pending.delete(frame.id);
      if (inOrder(frame)) on.frame(frame);
    }
    if (socket === null || socket.readyState !== WebSocket.OPEN) return;
    received += frames.length;
    unacked += frames.length;
    characters += data.length;
    if (unacked >= framesPerAck || characters >= charactersPerAck) {
      transmit({ type: "ack", frames: received });
      unacked = 0;
      characters = 0;
    }
    watchPulse(socket);
  }

  addEventListener("online", again);
  open();
  return {
    /** Tries at once, with the key of now. */
    again,
    /** Sends a command now, or after the next connect; it is repeated until it was answered. */
    command(frame) {
      const id = crypto.randomUUID();
      pending.set(id, { ...frame, id });
      if (socket?.readyState === WebSocket.OPEN) transmit(pending.get(id));
    },
    close() {
      ended = true;
      clearTimeout(timer);
      socket?.close();
    },
  };
}
`;

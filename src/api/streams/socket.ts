import { fieldsOf } from "../../chat/json.ts";
import { closeCodes, streamLimits } from "../../session/frames.ts";
import type { Problem } from "../../session/problems.ts";
import { problemBody, ProblemError, problemKinds, refuse } from "../../session/problems.ts";
import type { Principal } from "../../session/rpc.ts";
import type { RequestContext, SessionRequestContext } from "../context.ts";
import { checkTokenOrigin } from "../access/credentials.ts";
import { problemOf } from "../problems.ts";
import { connectSocket } from "./watch.ts";

/**
 * Upgrades WebSockets. With a credential the socket is the session's own. Without one the tenant, and so the
 * object, is not known yet: the router holds the socket until the `auth` frame and then passes messages both ways.
 */

const socketProtocol = "limpet.v1";

/** Refuses a request that is not an upgrade to this version; a client that names no subprotocol gets none. */
function checkUpgrade(request: Request): void {
  if (request.headers.get("Upgrade")?.toLowerCase() !== "websocket") {
    refuse("invalid_request", "This address accepts only WebSocket upgrades.");
  }
  const offered = request.headers.get("Sec-WebSocket-Protocol");
  if (offered !== null && !offered.split(",").some((name) => name.trim() === socketProtocol)) {
    refuse("version_unsupported", `Offer the subprotocol ${socketProtocol}.`, {
      meta: { supported: [socketProtocol] },
    });
  }
}

/** Accepts the socket and echoes only `limpet.v1`, never the credential beside it. */
function switchProtocols(request: Request, webSocket: WebSocket): Response {
  const headers = new Headers();
  if (request.headers.has("Sec-WebSocket-Protocol")) headers.set("Sec-WebSocket-Protocol", socketProtocol);
  return new Response(null, { status: 101, webSocket, headers });
}

/** Opens the session's own socket for a request whose credential is known. */
export async function upgradeAuthenticated(context: SessionRequestContext): Promise<Response> {
  checkUpgrade(context.request);
  return switchProtocols(context.request, await connectSocket(context));
}

const closeCodeOf = (problem: Problem): number => {
  const { status } = problemKinds[problem.code];
  return [400, 401, 403, 404, 429].includes(status) ? 4000 + status : closeCodes.overload;
};

/** Reads the credential in an `auth` frame; refuses any other first frame. */
function readToken(data: unknown): string {
  const bad = (): never => refuse("invalid_request", 'The first frame must be {"type":"auth","token":"…"}.');
  if (!isFrame(data)) return bad();
  let frame: unknown;
  try {
    frame = JSON.parse(data);
  } catch {
    return bad();
  }
  const { type, token } = fieldsOf(frame);
  return type === "auth" && typeof token === "string" && token.length <= 4096 ? token : bad();
}

/** Replaces close codes that may not be sent, which report a broken connection. */
const toSendableCode = (code: number): number =>
  code === 1005 || code === 1006 || code === 1015 ? 1011 : code;

function pipeSocket(from: WebSocket, to: WebSocket): void {
  from.addEventListener("message", ({ data }) => to.send(data));
  from.addEventListener("close", ({ code, reason }) => to.close(toSendableCode(code), reason));
  from.addEventListener("error", () => to.close(1011));
}

interface LateUpgrade {
  readonly context: RequestContext;
  /** Checks that a principal may watch this session. */
  readonly admit: (principal: Principal) => SessionRequestContext;
}

const tooManyFrames = new ProblemError({ code: "rate_limited", detail: "Too many frames at once." });

const frameTooLarge = new ProblemError({
  code: "invalid_request",
  detail: `Frames are JSON text of at most ${streamLimits.frame} bytes: send less, or several.`,
});

const isFrame = (data: unknown): data is string =>
  typeof data === "string" && data.length <= streamLimits.frame;

/** Messages in order until the session's socket is open. */
interface WaitingSocket {
  readonly socket: WebSocket;
  readonly waiting: (string | ArrayBuffer)[];
  phase: "auth" | "connecting" | "open" | "closed";
}

function dismiss(lobby: WaitingSocket, late: LateUpgrade, thrown: unknown): void {
  if (lobby.phase === "closed") return;
  lobby.phase = "closed";
  lobby.waiting.length = 0;
  const problem = problemOf(thrown);
  late.context.notes.code = problem.code;
  lobby.socket.send(JSON.stringify({ type: "error", problem: problemBody(problem, late.context.requestId) }));
  lobby.socket.close(closeCodeOf(problem), problem.code);
}

async function admitAndConnect(lobby: WaitingSocket, late: LateUpgrade, data: unknown): Promise<void> {
  const { context } = late;
  const principal = await context.router.authenticate(context, readToken(data));
  checkTokenOrigin(context, principal);
  const upstream = await connectSocket(late.admit(principal));
  upstream.accept();
  if (lobby.phase === "closed") {
    upstream.close(1000);
    return;
  }
  pipeSocket(upstream, lobby.socket);
  for (const message of lobby.waiting.splice(0)) upstream.send(message);
  lobby.phase = "open";
  pipeSocket(lobby.socket, upstream);
}

function receiveMessages(lobby: WaitingSocket, late: LateUpgrade): void {
  const timer = setTimeout(() => {
    if (lobby.phase !== "auth") return;
    lobby.phase = "closed";
    lobby.socket.close(closeCodes.timeout, "auth timeout");
  }, streamLimits.authentication);
  lobby.socket.addEventListener("message", ({ data }) => {
    if (lobby.phase === "connecting") lobby.waiting.push(data);
    if (lobby.phase === "connecting" && !isFrame(data)) dismiss(lobby, late, frameTooLarge);
    if (lobby.waiting.length > streamLimits.burst) dismiss(lobby, late, tooManyFrames);
    if (lobby.phase !== "auth") return;
    clearTimeout(timer);
    lobby.phase = "connecting";
    admitAndConnect(lobby, late, data).catch((thrown: unknown) => dismiss(lobby, late, thrown));
  });
  lobby.socket.addEventListener("close", () => {
    clearTimeout(timer);
    if (lobby.phase !== "open") lobby.phase = "closed";
  });
}

/** Opens a socket whose first frame must be `auth`, within 5 s. */
export function upgradeUnauthenticated(late: LateUpgrade): Response {
  checkUpgrade(late.context.request);
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  receiveMessages({ socket: server, waiting: [], phase: "auth" }, late);
  return switchProtocols(late.context.request, client);
}

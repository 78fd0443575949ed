import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** The edge of the deployed Worker: what its own code sees of it, and what callers send that is too much. */

const adminKey = "an-admin-key-for-the-edge-tests-only";
const stray = "a-secret-that-nothing-refers-to";

let team: BuiltTeam;
let server: DevServer;
let api: Api;

beforeAll(async () => {
  team = await buildTestTeam("guarded");
  server = await startRuntime({ team, vars: { LIMPET_ADMIN_KEY: adminKey, STRAY: stray } });
  api = createApi(server.url, adminKey);
});
afterAll(async () => {
  await server?.close();
  team?.remove();
});

test("TB-1 RE-15: code of the team sees no environment, and what it finds elsewhere is told by name only", async () => {
  const session = await api.create();
  const { body } = await api.post(`/v1/sessions/${session}/messages`, { content: "Look", wait: 60 });
  expect(body["state"], JSON.stringify(body)).toBe("completed");
  const events = await api.events(session);
  const [seen] = events.flatMap((event) => (event.type === "tool_call_end" ? [event.data.output] : []));
  expect(typeof seen === "string" && JSON.parse(seen)).toEqual({
    process: {},
    bindings: {
      LIMPET_ADMIN_KEY: "[secret:LIMPET_ADMIN_KEY]",
      LIMPET_PRIVATE_EGRESS: "",
      STRAY: "[secret:STRAY]",
    },
  });
  for (const secret of [adminKey, stray]) expect(JSON.stringify(events)).not.toContain(secret);
});

const mebi = 1024 * 1024;

interface Sent {
  readonly path: string;
  readonly size: number;
  readonly chunked: boolean;
}

/** Sends a body of zeros as a plain client does: all of it, then reads the answer. */
const sendBody = ({ path, size, chunked }: Sent): Promise<readonly [number | undefined, unknown]> =>
  new Promise((done, fail) => {
    const sent = request(
      `${server.url}${path}`,
      {
        method: "POST",
        headers: {
          Authorization: `Bearer ${adminKey}`,
          "Content-Type": "application/json",
          ...(chunked ? { "Transfer-Encoding": "chunked" } : { "Content-Length": String(size) }),
        },
      },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (piece: string) => void (text += piece));
        answer.once("error", fail);
        answer.once("end", () =>
          done([answer.statusCode, (JSON.parse(text) as Record<string, unknown>)["code"]]),
        );
      },
    );
    sent.once("error", fail);
    const piece = Buffer.alloc(mebi, " ");
    let left = size;
    const write = (): void => {
      while (left > 0) {
        const next = piece.subarray(0, Math.min(left, piece.length));
        left -= next.length;
        if (!sent.write(next)) return void sent.once("drain", write);
      }
      sent.end();
    };
    write();
  });

test("AP-8: a client that sends far too much is told so with a 413, and not cut off", async () => {
  const session = await api.create();
  const cases = [12 * mebi, 40 * mebi].flatMap((size) =>
    [`/v1/sessions/${session}/messages`, `/v1/sessions/${session}/cancel`, "/v1/keys"].flatMap((path) =>
      [true, false].map((chunked): Sent => ({ path, size, chunked })),
    ),
  );
  for (const sent of cases) {
    const told = await sendBody(sent).catch((fault: unknown) => [fault]);
    expect(told, JSON.stringify(sent)).toEqual([413, "payload_too_large"]);
    const answer = await fetch(`${server.url}${sent.path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${adminKey}`, "Content-Type": "application/json" },
      body: Buffer.alloc(sent.size, " "),
    }).catch((fault: unknown) => new Response(null, { status: 599, statusText: String(fault) }));
    expect([answer.status, answer.statusText], JSON.stringify(sent)).toEqual([413, "Payload Too Large"]);
  }
});

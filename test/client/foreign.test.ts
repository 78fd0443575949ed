import { afterEach, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/index.ts";

/** Answers that come from something before the server, such as a gateway or the page of a network to sign in at. */

afterEach(() => {
  vi.restoreAllMocks();
});

const signIn = (): Response => new Response("<h1>Sign in</h1>", { headers: { "Content-Type": "text/html" } });

const gateway = (): Response => new Response("<h1>Bad Gateway</h1>", { status: 502 });

/** A client whose requests are answered by these in turn, the last one again and again; lists their keys. */
const play = (...answers: readonly (() => Response)[]) => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  const keys: (string | null)[] = [];
  const client = createClient({
    url: "http://limpet.test",
    fetch: async (_, init) => {
      keys.push(new Headers(init?.headers).get("Idempotency-Key"));
      return (answers[keys.length - 1] ?? answers.at(-1) ?? gateway)();
    },
  });
  return { client, keys };
};

test("AP-52: a page that answers 200 in the server's place took no message, which is sent again under its key", async () => {
  const receipt = { input: "m1", status: "applied", run: "run_1", seq: 3 };
  const { client, keys } = play(signIn, gateway, () => Response.json(receipt, { status: 202 }));
  expect(await client.sessions.get("s_1").send({ id: "m1", content: "hello" })).toEqual(receipt);
  expect(keys).toEqual(["m1", "m1", "m1"]);
});

test.each([
  ["a page in the place of an answer", signIn, 200, true],
  ["the page of a gateway", gateway, 502, true],
  ["the page of another server", () => new Response("Not Found", { status: 404 }), 404, false],
])("AP-51: %s is told as what it may be, not as an answer", async (_, answer, status, retryable) => {
  const { client } = play(answer);
  const detail = `no Limpet answered ${status}, but a gateway or another server`;
  const problem = { code: "unreadable_answer", status, retryable, detail };
  await expect(client.sessions.get("s_1").cancel()).rejects.toMatchObject({ problem });
  await expect(client.sessions.create()).rejects.toMatchObject({ problem });
});

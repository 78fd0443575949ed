import { expect, test } from "vitest";
import { api, create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** Memory in workerd: the team's own tables and their index of words, over several sessions and the router (AG-41). */

const notes = async (session: Session): Promise<readonly string[]> => {
  const { data } = (await session.call("GET", "/messages?limit=200")).body as unknown as {
    readonly data: readonly { readonly parts: readonly { readonly text?: string }[] }[];
  };
  return data.flatMap(({ parts }) =>
    parts.flatMap(({ text = "" }) => (text.startsWith("<memory>") ? [text] : [])),
  );
};

const parsed = (output: unknown): unknown => (typeof output === "string" ? JSON.parse(output) : output);

const found = async (session: Session): Promise<unknown> =>
  (await session.events()).flatMap((event) =>
    event.type === "tool_call_end" ? [parsed(event.data.output)] : [],
  );

const opened = (subject: string): Promise<Session> => create("mind", undefined, { metadata: { subject } });

test("AG-41 AP-16: a session of an agent with a memory may be created with its first input", async () => {
  const session = await create("mind", "Please remember where my boat lies", {
    metadata: { subject: "eve" },
  });
  await session.quiet();
  const ends = (await session.events()).flatMap(({ type, data }) => (type === "run_end" ? [data] : []));
  expect(ends).toMatchObject([{ state: "completed" }]);
});

test("★ AG-41: what one session of a subject hears and keeps, another recalls and searches, through crashes; another subject's does not, and DELETE forgets it", async () => {
  const first = await opened("ada");
  await first.send("in1", "Please remember where my boat lies");
  await first.crash();
  await first.quiet();
  const second = await opened("ada");
  await second.send("in1", "Please search where my boat lies");
  await second.crash();
  await second.quiet();
  expect(await notes(second)).toEqual([expect.stringContaining("The boat lies in Kiel.")]);
  expect(await found(second)).toMatchObject([
    [{ text: "The keel is made of oak.", agent: "mind", score: 1 }],
  ]);
  await second.evict();
  expect(await notes(second)).toHaveLength(1);
  const stranger = await opened("bob");
  await stranger.send("in1", "Please search where my boat lies");
  await stranger.quiet();
  expect([await notes(stranger), await found(stranger)]).toEqual([[], [[]]]);
  expect(await api("DELETE", "/memory/ada", { key: null })).toMatchObject({ status: 401 });
  for (let time = 0; time < 2; time++) expect((await api("DELETE", "/memory/ada")).status).toBe(204);
  const third = await opened("ada");
  await third.send("in1", "Please search where my boat lies");
  await third.quiet();
  expect([await notes(third), await found(third)]).toEqual([[], [[]]]);
});

test("★ AP-13: a browser token of one person's session does not reach another person's memory", async () => {
  const alice = await opened("alice");
  await alice.send("in1", "Please remember where my boat lies");
  await alice.quiet();
  const mallory = await opened("mallory");
  const key = String((await mallory.call("POST", "/tokens", { body: {} })).body["token"]);
  const patched = await mallory.call("PATCH", "", { key, body: { metadata: { subject: "alice" } } });
  await mallory.send("in1", "Please search where my boat lies");
  await mallory.quiet();
  expect([await notes(mallory), await found(mallory)]).toEqual([[], [[]]]);
  expect([patched.status, patched.body["code"]]).toEqual([403, "scope_missing"]);
  const forced = await mallory.call("PATCH", "", { body: { metadata: { subject: "alice" } } });
  expect([forced.status, forced.body["errors"]]).toMatchObject([400, [{ pointer: "/metadata/subject" }]]);
});

test("AP-13: a subject is forgotten by who may manage sessions, not by who may write to them", async () => {
  const status = async (scope: string): Promise<number> => {
    const { body } = await api("POST", "/keys", { body: { scopes: [scope] } });
    return (await api("DELETE", "/memory/ada", { key: String(body["key"]) })).status;
  };
  expect([await status("sessions:write"), await status("sessions:manage")]).toEqual([403, 204]);
});

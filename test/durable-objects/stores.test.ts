import { expect, test } from "vitest";
import { api, create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** Shared stores in workerd: rows of the session, notes of the tenant in its object, over the router. */

const results = async (session: Session): Promise<readonly string[]> =>
  (await session.events())
    .flatMap((event) => (event.type === "tool_call_end" ? [JSON.stringify(event.data.output)] : []))
    .toSorted();

test("AG-42 AG-43: values and tasks are read over the API, also after an eviction; who may not see the session gets 404", async () => {
  const session = await create("shelf");
  await session.send("in1", "Write");
  await session.settled();
  const read = async (): Promise<unknown> => ({
    state: (await session.call("GET", "/state")).body["data"],
    tasks: (await session.call("GET", "/tasks")).body["data"],
  });
  const before = await read();
  expect(before).toMatchObject({
    state: [{ key: "k", value: [1] }],
    tasks: [{ id: "task_1", title: "Dig", status: "pending", assignee: null, blocked: false }],
  });
  await session.evict();
  expect(await read()).toEqual(before);
  for (const store of ["state", "tasks", "notes"])
    expect((await api("GET", `/sessions/s_${"z".repeat(26)}/${store}`)).status).toBe(404);
});

test("AP-7: every list of a session takes a limit and gives cursors", async () => {
  const session = await create("shelf");
  await session.send("in1", "Write");
  await session.settled();
  for (const list of ["state", "tasks", "notes", "inputs", "runs", "threads", "asks", "files", "workspace"]) {
    const { status, body } = await session.call("GET", `/${list}?limit=1`);
    expect({ status, body }, list).toMatchObject({
      status: 200,
      body: { next_cursor: null, prev_cursor: null },
    });
    expect((await session.call("GET", `/${list}?cursor=x`)).body, list).toMatchObject({
      code: "invalid_cursor",
    });
  }
});

test("AP-10: a 404 tells a session that is missing from what is missing in a session", async () => {
  const { call } = await create("capped");
  const own = await call("GET", "/runs/run_9");
  expect(own.body).toMatchObject({ code: "not_found", detail: "This session has no such run." });
  const { body } = await api("GET", `/sessions/s_${"z".repeat(26)}/runs/run_9`);
  expect(body).toMatchObject({ code: "not_found", detail: "There is no such session for this credential." });
});

test("AG-47: notes of the tenant's scope reach another session, through crashes, and the API shows them", async () => {
  const writer = await create("shelf");
  await writer.send("in1", "Write");
  await writer.crash();
  await writer.settled();
  const reader = await create("shelf");
  await reader.send("in1", "Read");
  await reader.settled();
  expect(await results(reader)).toEqual([
    '"Low at noon."',
    '"not_found: there is no value k; shared_state_list shows the keys"',
  ]);
  for (const session of [writer, reader])
    expect(await session.call("GET", "/notes")).toMatchObject({
      status: 200,
      body: { data: [{ name: "tide", content: "Low at noon." }] },
    });
});

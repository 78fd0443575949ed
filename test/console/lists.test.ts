import { expect, test, vi } from "vitest";
import type { Api } from "../../src/console/state/api.ts";
import type { StoredEvent } from "../../src/client/index.ts";
import { listTabs } from "../../src/console/run/tabs.ts";
import type { TeamFacts } from "../../src/console/state/agents.ts";
import { readPages } from "../../src/console/state/pages.ts";
import { createSessions } from "../../src/console/state/sessions.ts";

/** AP-54: lists that come in pages are read to their end, or as far as they are asked for. */

interface ListPage {
  readonly data: readonly string[];
  readonly next_cursor?: string | null;
}

const pages: ReadonlyMap<string, ListPage> = new Map([
  ["", { data: ["a", "b"], next_cursor: "two/2" }],
  ["&cursor=two%2F2", { data: ["c"], next_cursor: "3" }],
  ["&cursor=3", { data: ["d"], next_cursor: null }],
]);

const read = async (cursor: string): Promise<ListPage> => {
  const page = pages.get(cursor);
  if (page === undefined) throw new Error(`no page has the cursor ${cursor}`);
  return page;
};

test("AP-54: a list is read to its end by its cursors", async () => {
  expect(await readPages(read)).toEqual({ rows: ["a", "b", "c", "d"], hasMore: false });
  expect(await readPages(async () => ({ data: ["only"] }))).toEqual({ rows: ["only"], hasMore: false });
});

test("AP-54: a list that is read in part says that it goes on", async () => {
  expect(await readPages(read, 2)).toEqual({ rows: ["a", "b", "c"], hasMore: true });
  expect(await readPages(read, 3)).toEqual({ rows: ["a", "b", "c", "d"], hasMore: false });
});

test("AP-54: of several asks in a session the list tells of one that a person can answer", async () => {
  const asks = [
    { session: "s_1", kind: "question" },
    { session: "s_1", kind: "client_tool" },
    { session: "s_2", kind: "client_tool" },
    { session: "s_2", kind: "approval" },
    { session: "s_3", kind: "client_tool" },
  ];
  const read = async (address: string) => ({ data: address.startsWith("/asks?") ? asks : [] });
  const sessions = createSessions({ read } as unknown as Api, () => false);
  sessions.refresh();
  await vi.waitFor(() => expect(sessions.list.get().state).toBe("ready"));
  expect([...sessions.list.get().asks.values()]).toEqual(["question", "approval", "client_tool"]);
});

test("AP-54: the panel has a tab for each store that an agent uses, or has used as far as events tell", () => {
  const teamOf = (...toolboxes: readonly string[]) =>
    ({
      agents: [{ tools: [] }, { tools: toolboxes.map((toolbox) => ({ toolbox })) }],
    }) as unknown as TeamFacts;
  const changed = (type: string, store?: string) => ({ type, data: { store } }) as unknown as StoredEvent;
  expect(listTabs(null, [])).toEqual(["Run", "Files", "Events"]);
  expect(listTabs(teamOf("exec", "state"), [])).toEqual(["Run", "State", "Files", "Events"]);
  expect(listTabs(teamOf("tasks", "notes"), [])).toEqual(["Run", "Tasks", "Notes", "Files", "Events"]);
  expect(listTabs(teamOf("exec"), [changed("task_changed"), changed("store_changed", "state")])).toEqual([
    "Run",
    "Tasks",
    "State",
    "Files",
    "Events",
  ]);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Person } from "../../src/cli/client/person.ts";
import { run } from "../../src/cli/run.ts";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { root, until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** The commands that speak with a server, against the deployed bundles of the default team. */

const adminKey = "an-admin-key-for-the-tests-of-the-command-line";

let team: BuiltTeam;
let server: DevServer;
let api: Api;

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_ADMIN_KEY: adminKey } });
  api = createApi(server.url, adminKey);
});

afterAll(async () => {
  await server?.close();
  team?.remove();
});

/** Somebody at a terminal, played by a test. */
interface PlayedPerson extends Person {
  readonly type: (line: string) => void;
  /** Types no more. */
  readonly leave: () => void;
  readonly interrupt: () => void;
  readonly said: () => string;
  readonly warned: () => string;
}

const playPerson = (env: Person["env"] = {}, isTerminal = true): PlayedPerson => {
  const lines: (string | null)[] = [];
  let news = Promise.withResolvers<void>();
  let said = "";
  let warned = "";
  const listeners = new Set<() => void>();
  const push = (line: string | null): void => {
    lines.push(line);
    news.resolve();
  };
  return {
    write: (text) => {
      said += text;
    },
    warn: (line) => {
      warned += `${line}\n`;
    },
    async *lines() {
      for (;;) {
        const line = lines.shift();
        if (line === null) return;
        if (line !== undefined) {
          yield line;
          continue;
        }
        await news.promise;
        news = Promise.withResolvers();
      }
    },
    stopReading: () => undefined,
    onInterrupt: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isTerminal,
    env,
    type: push,
    leave: () => push(null),
    interrupt: () => {
      for (const listener of listeners) listener();
    },
    said: () => said,
    warned: () => warned,
  };
};

const terminalOf = (person: Person) => ({ root, print: person.warn, person });

/** Runs a command line with the key of the deployment. */
const limpet = async (...words: readonly string[]) => {
  const person = playPerson({ LIMPET_URL: server.url, LIMPET_KEY: adminKey });
  const code = await run(words, terminalOf(person));
  return { code, said: person.said(), warned: person.warned() };
};

/** Starts a conversation. */
const chat = (...words: readonly string[]) => {
  const person = playPerson({ LIMPET_URL: server.url, LIMPET_KEY: adminKey });
  return { person, ended: run(["chat", ...words], terminalOf(person)) };
};

/** Hands all lines to a conversation at once, as a pipe does. */
const pipeWith = async (key: string, lines: readonly string[]) => {
  const person = playPerson({ LIMPET_URL: server.url, LIMPET_KEY: key }, false);
  for (const line of lines) person.type(line);
  person.leave();
  const code = await run(["chat"], terminalOf(person));
  return { code, said: person.said(), warned: person.warned() };
};

const pipe = (...lines: readonly string[]) => pipeWith(adminKey, lines);

const says = (person: PlayedPerson, text: string): Promise<true> =>
  until(`${text} in ${JSON.stringify(person.said())}`, () => (person.said().includes(text) ? true : null));

test("AP-53: chat streams a reply, shows calls as a line each, and ends with its input", async () => {
  const { person, ended } = chat();
  person.type("files");
  person.leave();
  expect(await ended).toBe(0);
  const calls = person.said().match(/^· .*$/gm) ?? [];
  expect(calls.length, person.said()).toBeGreaterThanOrEqual(3);
  expect(calls[0]).toMatch(/^· fs_write {2}\S+/);
  const [, session = ""] = /session (\S+);/.exec(person.warned()) ?? [];
  const events = await api.events(session);
  const end = events.find(({ type }) => type === "run_end");
  const text = end?.type === "run_end" ? end.data.result.text : "no end";
  expect(person.said()).toContain(text);
});

test("AP-53: chat answers an approval in place, by its number a question, and indents called agents", async () => {
  const { person, ended } = chat("--agent", "guide");
  person.type("approve");
  await says(person, "y allows it");
  expect(person.said()).toMatch(/\? Allow shared_state_set\?/);
  person.type("maybe");
  await until("the refusal", () => (person.warned().includes("type y, n, s or e") ? true : null));
  person.type("approve");
  await says(person, "· shared_state_set");
  person.type("ask");
  await says(person, "Type the answer");
  person.type("2");
  await says(person, "· ask_user");
  person.type("team");
  await until("the children", () => (/^ {2}\S+ · \S+/m.test(person.said()) ? true : null));
  person.leave();
  expect(await ended).toBe(0);
  expect(person.said()).toMatch(/^▸ spawn_agents/m);
  expect(person.said()).toMatch(/^ {2}\S.* completed {2}\$/m);
  // Lines of agents at work stand among each other: each agent is named when it begins.
  const [, scout = ""] = /^ {2}(\S+ scout\S*) begins\n/m.exec(person.said()) ?? [];
  expect(person.said()).toMatch(new RegExp(`^ {2}${scout} begins$[^]*^ {2}${scout} {2}completed`, "m"));
});

test("AP-53: a piped line that comes while somebody is asked is the answer; an ask at the end is told", async () => {
  const answered = await pipe("ask", "1", "hello");
  expect(answered.code, answered.warned).toBe(0);
  expect(answered.said).toMatch(/· ask_user[^]*That was \*\*ask\*\*\. Your answer: It stays where it is/);
  expect(answered.warned).not.toContain("limpet answer");
  const open = await pipe("ask");
  expect(open.code).toBe(4);
  expect(open.said).toContain("Type the answer");
  expect(open.warned).toMatch(/^the session waits for an answer: npx limpet answer s_\w+ \S+ …$/m);
});

test("AP-53: send --wait says beside the result what the run asks, and how it is answered", async () => {
  const { code, said, warned } = await limpet("send", "new", "ask", "--wait");
  expect([code, said]).toEqual([4, ""]);
  const [session = "", ...lines] = warned.split("\n");
  const words = lines.join("\n");
  const [ask] = JSON.parse((await limpet("asks", session, "--json")).said) as readonly { id: string }[];
  expect(words).toMatch(/^the session waits for an answer:\n\? .+\n {2}1 {2}.+\n/);
  expect(words).toContain(`  npx limpet answer ${session} ${ask?.id} answer <text or number>\n`);
  expect(words).not.toContain("Type the");
  expect((await limpet("asks", session)).said).toBe(words.replace("the session waits for an answer:\n", ""));
});

test("AP-53: the commands that are printed to be copied name the server that --url named", async () => {
  const { warned } = await limpet("send", "new", "ask", "--wait", "--url", server.url);
  const [session = ""] = warned.split("\n");
  const command = new RegExp(`^  npx limpet answer ${session} .+ --url ${server.url}$`, "m");
  expect(warned).toMatch(command);
  expect((await limpet("asks", session, "--url", server.url)).said).toMatch(command);
  expect((await limpet("asks", session)).said).not.toContain("--url");
});

test.each([
  [["approve", "--remember", "sesion"], "--remember takes session or agent, not sesion"],
  [["approve", "--limit", "much"], "--limit takes a number, not much"],
  [["edit", "no json"], "write the new input as JSON after edit"],
])("AP-53: answer %j is refused by its own words before it is sent", async (given, words) => {
  const answered = await limpet("answer", "s_none", "ask_none", ...given);
  expect(answered.code).toBe(2);
  expect(answered.warned).toContain(words);
});

test("AP-53: tail from what is no number is refused by its own words", async () => {
  const { session } = JSON.parse((await limpet("send", "new", "hello", "--json")).said) as {
    session: string;
  };
  const tailed = await limpet("tail", session, "--after", "abc");
  expect([tailed.code, tailed.warned.includes("--after takes a number, not abc")]).toEqual([2, true]);
});

test("AP-53: asks does not say that nobody is asked to a key that may not decide what a session waits for", async () => {
  const keyWith = async (scopes: string): Promise<string> =>
    (await limpet("keys", "create", "--tenant", "quay", "--scopes", scopes)).said.trim();
  const writer = await keyWith("sessions:write");
  const made = await limpet("send", "new", "approve", "--json", "--key", writer);
  const { session } = JSON.parse(made.said) as { session: string };
  const key = await keyWith("sessions:read,asks:answer");
  const nobody =
    "Nobody is asked anything that this key may answer; a new question is listed after some seconds.";
  const said = await until("the session in the list", async () => {
    const asks = await limpet("asks", "--key", key);
    return asks.said.includes(session) ? asks.said : null;
  });
  expect(said).toBe(
    `${nobody} A session waits all the same; what for is shown by\n  npx limpet asks ${session}\n`,
  );
  expect((await limpet("asks", session, "--key", key)).said).toContain("? Allow shared_state_set?");
  expect(await limpet("asks", "--key", await keyWith("asks:answer"))).toMatchObject({
    code: 0,
    said: `${nobody}\n`,
  });
});

test("AP-53: /help says what may be typed and /quit leaves; no model gets either", async () => {
  const { code, said, warned } = await pipe("/help", "hello", " /quit ", "hello");
  expect(code).toBe(0);
  expect(warned).toContain("Type a message, or the answer to what is asked.");
  const [, session = ""] = /session (\S+);/.exec(warned) ?? [];
  const inputs = (await api.events(session)).filter(({ type }) => type === "run_start");
  expect(inputs.length, said).toBe(1);
});

test("AP-53: Ctrl-C cancels the run, once more leaves", async () => {
  const { person, ended } = chat();
  person.type("ask");
  await says(person, "Type the answer");
  person.interrupt();
  await says(person, "stopped");
  expect(person.warned()).toContain("Ctrl-C once more leaves");
  person.interrupt();
  expect(await ended).toBe(0);
});

test("AP-53: chat says that a message waits for the run, and that it was not taken up when the run was cancelled", async () => {
  const { person, ended } = chat();
  person.type("slow");
  await says(person, "The tide comes in");
  person.type("And then?");
  await until("it waits", () => person.warned().includes("(it waits for the end of the run)") || null);
  person.interrupt();
  await says(person, "(not taken up: And then?)");
  person.leave();
  await ended;
});

test("AP-53: a person who leaves without a message leaves no session behind", async () => {
  const { person, ended } = chat();
  person.type("/help");
  person.type("/quit");
  expect(await ended).toBe(0);
  expect(person.warned()).toMatch(/^Type a message, which begins a session; .*\nType a message, or .*\n$/);
});

test("AP-53: /quit leaves although the input stays open, as that of a terminal does", async () => {
  const env = { ...process.env, LIMPET_URL: server.url, LIMPET_KEY: adminKey };
  const child = spawn(process.execPath, ["src/cli/main.ts", "chat"], { cwd: root, env });
  child.stdin.write("hello\n/quit\n");
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("AP-53: what was shown of a reply that Ctrl-C cancels is not shown again", async () => {
  const { person, ended } = chat();
  person.type("slow");
  await says(person, "The tide comes in");
  person.interrupt();
  await says(person, "stopped");
  person.leave();
  await ended;
  const [, session = ""] = /session (\S+);/.exec(person.warned()) ?? [];
  const partial = (await api.events(session)).flatMap((event) =>
    event.type === "message_added" && event.data.message.marks?.includes("partial") === true
      ? event.data.message.parts.flatMap((part) => (part.type === "text" ? part.text : []))
      : [],
  );
  expect(partial).toHaveLength(1);
  expect(person.said()).toBe(`${partial.join("").trimEnd()}\nstopped\n`);
});

test("AP-53: a pipe with nothing to send is told so, and makes no session", async () => {
  const scopes = "sessions:read,sessions:write";
  const key = (await limpet("keys", "create", "--tenant", "silence", "--scopes", scopes)).said.trim();
  for (const lines of [[], ["", "  "]])
    expect(await pipeWith(key, lines)).toEqual({
      code: 2,
      said: "",
      warned: "There is nothing to send: the input is empty, and no session was made.\n",
    });
  await limpet("send", "new", "hello", "--key", key);
  const sessions = await until("the session after them", async () => {
    const { said } = await limpet("sessions", "--json", "--key", key);
    return said.trim() === "[]" ? null : (JSON.parse(said) as readonly unknown[]);
  });
  expect(sessions).toHaveLength(1);
});

test("AP-53: send, tail, sessions, asks, answer, cancel and export, for people and as JSON", async () => {
  const made = await limpet("send", "new", "ask", "--json");
  expect(made.code).toBe(0);
  const { session, status } = JSON.parse(made.said) as { session: string; status: string };
  expect(status).toBe("applied");
  const open = await until("the ask", async () => {
    const found = JSON.parse((await limpet("asks", session, "--json")).said) as readonly {
      readonly id: string;
    }[];
    return found[0] ?? null;
  });
  // Lists over sessions come from an index that follows within seconds.
  const listed = async (command: string, text: RegExp): Promise<true | null> =>
    text.test((await limpet(command)).said) || null;
  await until("the ask in the list", () => listed("asks", new RegExp(open.id)));
  await until("the session in the list", () => listed("sessions", new RegExp(`^${session} {2}waiting`, "m")));
  expect(await limpet("answer", session, open.id, "answer", "2")).toMatchObject({
    code: 0,
    said: `${open.id} is resolved\n`,
  });
  await until(
    "the end",
    async () => (await api.events(session)).some(({ type }) => type === "run_end") || null,
  );
  const exported = await limpet("export", session);
  const events = await api.events(session);
  expect(exported.said.trimEnd().split("\n")).toEqual(events.map((event) => JSON.stringify(event)));
  const ended = events.find(({ type }) => type === "tool_call_end");
  expect(JSON.stringify(ended)).toContain("It follows the sea");
  expect((await limpet("cancel", session)).said).toBe("No run is active.\n");
  expect((await limpet("send", session, "hello", "--wait")).said.length).toBeGreaterThan(20);
  expect(await limpet("send", "new", "budget", "--wait")).toMatchObject({
    code: 1,
    said: expect.stringContaining("max_cost_usd") as string,
  });
});

test("AP-53: an empty word, as a script without its variable gives it, is refused with where ids stand", async () => {
  for (const words of [
    ["tail", ""],
    ["send", "", "hello"],
    ["cancel", ""],
    ["export", ""],
    ["asks", ""],
  ]) {
    const { code, warned } = await limpet(...words);
    expect(code, words.join(" ")).toBe(2);
    expect(warned).toMatch(
      /got an empty (<session(\|new)?>|\[session\]); limpet sessions lists .*\n {2}limpet /,
    );
  }
});

test("AP-53: sessions says why the last run of one failed", async () => {
  const session = await api.create({ input: "budget" });
  const failed = new RegExp(`^${session} {2}failed: budget_exceeded `, "m");
  await until(
    "it failed",
    async () => failed.test((await limpet("sessions", "--limit", "200")).said) || null,
  );
});

test("AP-53: sessions says that there are more, and by which command the next are shown", async () => {
  const made = [await api.create(), await api.create(), await api.create()];
  await until("the sessions in the list", async () => {
    const { said } = await limpet("sessions", "--limit", "200");
    return made.every((id) => said.includes(id)) || null;
  });
  const all = (await limpet("sessions", "--limit", "200")).said.trimEnd().split("\n");
  const first = await limpet("sessions", "--limit", "2");
  expect(first.said.trimEnd().split("\n")).toHaveLength(2);
  const [, words = ""] =
    /^There are more sessions: npx limpet (sessions --limit 2 --cursor \S+) shows the next;/.exec(
      first.warned,
    ) ?? [];
  const next = await limpet(...words.split(" "));
  const idsOf = (lines: readonly string[]) => lines.map((line) => line.split(" ")[0]);
  expect(idsOf(`${first.said}${next.said}`.trimEnd().split("\n"))).toEqual(idsOf(all.slice(0, 4)));
  expect((await limpet("sessions", "--limit", "200")).warned).toBe("");
});

test("AP-53: tail prints one line an event, at most 120 characters, inputs reduced to command or path", async () => {
  const session = await api.create();
  const person = playPerson({ LIMPET_URL: server.url, LIMPET_KEY: adminKey });
  const ended = run(["tail", session, "--after", "0"], terminalOf(person));
  await limpet("send", session, "files");
  await says(person, "run_end completed");
  person.interrupt();
  expect(await ended).toBe(0);
  const lines = person.said().trimEnd().split("\n");
  expect(
    lines.every((line) => /^\d+ \d\d:\d\d:\d\d \S/.test(line)),
    person.said(),
  ).toBe(true);
  expect(
    lines.some((line) => / tool_call_start fs_write \S+$/.test(line)),
    person.said(),
  ).toBe(true);
  expect(lines.every((line) => [...line].length <= 140)).toBe(true);
  expect(lines.every((line) => !line.includes("llm_text"))).toBe(true);
});

test("AP-53: tail says at once how the session stands, and how what came before is shown", async () => {
  const session = await api.create();
  const person = playPerson({ LIMPET_URL: server.url, LIMPET_KEY: adminKey });
  const ended = run(["tail", session], terminalOf(person));
  await until("it speaks", () => person.warned() || null);
  person.interrupt();
  expect(await ended).toBe(0);
  expect([person.said(), person.warned()]).toEqual([
    "",
    "the session is idle; events are shown as they come, --after 0 shows those before, too\n",
  ]);
});

test("AP-53 AP-12: keys are made, listed and revoked", async () => {
  const made = await limpet(
    "keys",
    "create",
    "--scopes",
    "sessions:read,sessions:write",
    "--name",
    "till",
    "--json",
  );
  const { id, key } = JSON.parse(made.said) as { id: string; key: string };
  expect((await limpet("keys")).said).toMatch(new RegExp(`^${id} .*till`, "m"));
  expect((await limpet("sessions", "--key", key)).code).toBe(0);
  expect(await limpet("keys", "revoke", id)).toMatchObject({ code: 0 });
  expect(await limpet("keys", "revoke", id)).toMatchObject({
    code: 1,
    warned: `Key ${id} was not found, or is revoked already; limpet keys lists those there are.\n`,
  });
  expect(await limpet("keys", "create", "--scopes", "sessions:all")).toMatchObject({ code: 2 });
});

/** A session that does not exist. */
const missing = `s_${"a".repeat(26)}`;

test.each<readonly [string, readonly string[], number, string]>([
  ["no server", ["sessions", "--url", "http://127.0.0.1:9"], 3, "No server answers at http://127.0.0.1:9"],
  [
    "a wrong key",
    ["sessions", "--key", "lk_wrong"],
    1,
    "the key is wrong, revoked or expired; give one by --key",
  ],
  ...[["chat"], ["send", "hello"], ["tail"], ["export"], ["cancel"], ["asks"]].map(
    ([command = "", ...more]) =>
      [
        `no session for ${command}`,
        [command, missing, ...more],
        1,
        `Session ${missing} was not found; limpet sessions lists those that you can reach.`,
      ] as const,
  ),
  ["no ask", ["answer", missing, "a1", "approve"], 1, `Ask a1 of session ${missing} was not found`],
  ["no address", ["sessions", "--url", "localhost"], 2, "localhost is not an address; write it with http"],
  [
    "a port without a scheme",
    ["sessions", "--url", "localhost:9114"],
    2,
    "localhost:9114 is not an address; write it with http:// or https://",
  ],
  [
    "too few words",
    ["answer", "s"],
    2,
    "limpet answer takes 3 to 4 words after its name:\n  limpet answer <session> <ask> <decision> [text] [--rem",
  ],
  ["an unknown decision", ["answer", "s", "a", "perhaps"], 2, "perhaps is not a decision; use approve, deny"],
  ["an unknown mode", ["send", "s", "hi", "--on-busy", "later"], 2, "later is not a mode; use reject, queue"],
  ["a limit that no page has", ["sessions", "--limit", "201"], 2, "a number from 1 to 200"],
  ["a foreign flag", ["sessions", "--wait"], 2, "sessions does not accept --wait"],
  ...[["chat"], ["send", "hello"]].map(
    ([command = "", ...more]) =>
      [
        `another agent for a session by ${command}`,
        [command, missing, ...more, "--agent", "scout"],
        2,
        `--agent is the agent of a new session; ${missing} has its own`,
      ] as const,
  ),
  [
    "a name as a word",
    ["keys", "create", "till", "--scopes", "admin"],
    2,
    "keys create takes no till; --name names a key",
  ],
  [
    "a flag for no key",
    ["keys", "list", "--tenant", "t"],
    2,
    "keys list takes no --scopes, --name or --tenant",
  ],
  ["a word too many", ["keys", "list", "t"], 2, "keys list takes no t"],
])("AP-53: %s is told with the way out, and in the exit code", async (_, words, code, text) => {
  const { code: given, warned } = await limpet(...words);
  expect(warned).toContain(text);
  expect(given).toBe(code);
});

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { createAsyncapi, createOpenapi, createReference } from "../../../src/api/documents/index.ts";
import { examples } from "../../../src/api/documents/examples.ts";
import { describedRoutes } from "../../../src/api/documents/routes.ts";
import { clientFrames } from "../../../src/api/documents/schemas/client-frames.ts";
import { eventSchemas } from "../../../src/api/documents/schemas/events.ts";
import { closeCodeSentences, serverFrames } from "../../../src/api/documents/schemas/frames.ts";
import { problemSentences } from "../../../src/api/documents/schemas/problems.ts";
import { tasks } from "../../../src/api/documents/tasks.ts";
import { routes as clientRoutes } from "../../../src/client/operations/routes.ts";
import { closeCodes } from "../../../src/session/frames.ts";
import { problemKinds } from "../../../src/session/problems.ts";
import { allScopes } from "../../../src/session/rpc.ts";
import { currentDocuments, findBroken, readGolden } from "./golden.ts";

/** The documents of the API (AP-50): complete, valid, with recorded examples, and without surprises for clients. */

const root = resolve(import.meta.dirname, "../../..");

type Fields = Readonly<Record<string, unknown>>;

const openapi = createOpenapi();
const asyncapi = createAsyncapi();
const text = JSON.stringify([openapi, asyncapi]);

const lint = async (document: unknown): Promise<readonly string[]> => {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: "document.json",
    config,
  });
  return problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer ?? ""}`);
};

test("AP-50: linters find nothing in the documents, but that a WebSocket has no answer of success", async () => {
  expect(await lint(openapi)).toEqual([
    "operation-2xx-response #/paths/~1v1~1sessions~1{session}~1ws/get/responses",
  ]);
  expect(await lint(asyncapi)).toEqual([]);
});

test("AP-50: a linter sees a mistake in a document", async () => {
  expect(await lint({ ...openapi, paths: { "/x": { get: { responses: {} } } } })).not.toEqual([]);
  expect(await lint({ ...asyncapi, channels: { x: { messages: 5 } } })).not.toEqual([]);
});

test("AP-50: types made from the document compile", { timeout: 240_000 }, async () => {
  // The generator needs the compiler's API, which the compiler of this project no longer has.
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier === "typescript" ? "typescript5" : specifier, context),
  });
  const { astToString, default: generate } = await import("openapi-typescript");
  const folder = mkdtempSync(join(root, ".limpet", "types-"));
  try {
    const types = await generate(JSON.stringify(openapi));
    writeFileSync(join(folder, "api.ts"), astToString(types));
    const use = [
      'import type { paths } from "./api.ts";',
      'type Send = paths["/v1/sessions/{session}/messages"]["post"];',
      'const body: NonNullable<Send["requestBody"]>["content"]["application/json"] = { content: "Hello" };',
      'type Receipt = Send["responses"]["202"]["content"]["application/json"];',
      "const seq = (receipt: Receipt): number => receipt.seq;",
      "// @ts-expect-error A receipt has no such field.",
      "const wrong = (receipt: Receipt) => receipt.sequence;",
      "export { body, seq, wrong };",
    ];
    writeFileSync(join(folder, "use.ts"), `${use.join("\n")}\n`);
    const options = {
      strict: true,
      noEmit: true,
      module: "esnext",
      moduleResolution: "bundler",
      allowImportingTsExtensions: true,
      types: [],
    };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions: options, files: ["use.ts"] }),
    );
    const compile = () =>
      execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
    expect(compile()).toBe("");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe("AP-50: everything is there, with a sentence", () => {
  const isSentence = (said: unknown): boolean => typeof said === "string" && /^[A-Z\d].*[.]$/.test(said);

  test("AP-50: every route stands in one group of tasks", () => {
    const grouped = tasks.flatMap(({ routes }) => routes);
    expect(grouped.toSorted()).toEqual(describedRoutes.map(({ id }) => id).toSorted());
    expect(new Set(grouped).size).toBe(grouped.length);
  });

  test("AP-50: routes, parameters, events, frames, codes and scopes", () => {
    const operations = Object.values(openapi["paths"] as Record<string, Record<string, Fields>>).flatMap(
      (methods) => Object.values(methods),
    );
    expect(operations.length).toBe(describedRoutes.length);
    expect(operations.filter(({ summary }) => !isSentence(summary))).toEqual([]);
    const parameters = operations.flatMap(({ parameters: taken = [] }) => taken as readonly Fields[]);
    const own = parameters.filter((each) => each["$ref"] === undefined);
    expect(own.filter(({ description }) => !isSentence(description))).toEqual([]);
    const { messages } = asyncapi["components"] as { readonly messages: Record<string, Fields> };
    expect(Object.keys(messages).length).toBe(eventSchemas.size + serverFrames.size + clientFrames.size);
    expect(Object.values(messages).filter(({ summary }) => !isSentence(summary))).toEqual([]);
    for (const code of Object.values(closeCodes)) expect(isSentence(closeCodeSentences[code])).toBe(true);
    for (const code of Object.keys(problemKinds)) expect(text, code).toContain(`"${code}":{"summary":`);
    for (const scope of allScopes) expect(text, scope).toContain(`\`${scope}\`: `);
  });
});

describe("AP-50: examples that tests recorded", () => {
  /** What no test can bring about at the wire, each with the reason. */
  const without: Readonly<Record<string, string>> = {
    "answers openapi 200": "it is this document",
    "answers asyncapi 200": "it is that document",
    "answers fork 200": "as 201, of a fork that a key of more than 7 days ago began",
    "answers unpack 200": "as 201, where nothing was new",
  };

  /** Closes that no test can bring about. */
  const neverClosed: Readonly<Record<string, string>> = {
    1012: "the platform says it",
    4426: "no release has another version",
  };

  /** Operations that neither take nor answer JSON. */
  const withoutJson: Readonly<Record<string, string>> = {
    openapi: "it is this document",
    asyncapi: "it is that document",
    llms: "its answer is a text",
    oauth_callback: "its answer is a page",
    connect: "its frames stand in the other document",
    ...Object.fromEntries(
      [
        "reset_cooldowns",
        "reset_cooldown",
        "delete",
        "revoke_grant",
        "forget_subject",
        "forget_mcp_login",
        "revoke_key",
      ].map((id) => [id, "it has no body, and answers 204"]),
    ),
  };

  const missing = (
    kind: keyof typeof examples,
    keys: readonly string[],
    excused: Readonly<Record<string, string>> = {},
  ): readonly string[] =>
    keys.filter(
      (key) =>
        (examples[kind][key] === undefined) ===
        (excused[key] === undefined && without[`${kind} ${key}`] === undefined),
    );

  test("AP-50: there is one of every answer, event, frame and code", () => {
    const answers = describedRoutes.flatMap(({ id, answers: told }) =>
      Object.entries(told).flatMap(([status, schema]) => (schema === null ? [] : [`${id} ${status}`])),
    );
    expect(missing("answers", answers)).toEqual([]);
    expect(missing("events", [...eventSchemas.keys()])).toEqual([]);
    const frames = [
      ...[...clientFrames.keys()].map((type) => `client ${type}`),
      ...[...serverFrames.keys()].map((type) => `server ${type}`),
    ];
    expect(missing("frames", frames)).toEqual([]);
    expect(missing("closes", Object.keys(closeCodeSentences), neverClosed)).toEqual([]);
    expect(missing("problems", Object.keys(problemKinds))).toEqual([]);
    expect(
      missing(
        "requests",
        describedRoutes.flatMap(({ id, body }) => (body === null ? [] : [id])),
      ),
    ).toEqual([]);
  });

  test("AP-50: every operation has an example, but those without JSON", () => {
    const silent = describedRoutes.filter(
      ({ id, answers }) =>
        examples.requests[id] === undefined &&
        Object.keys(answers).every((status) => examples.answers[`${id} ${status}`] === undefined),
    );
    expect(silent.map(({ id }) => id).toSorted()).toEqual(Object.keys(withoutJson).toSorted());
  });

  test("AP-50: every scope names what it is for", () => {
    for (const scope of allScopes)
      expect(text).toMatch(new RegExp(`\`${scope}\`: [^\`]+ For example [^\`]*\``));
  });

  test("AP-50: an example of an error has what its sentence promises, and none is invented", () => {
    const problems = examples.problems as Readonly<Record<string, Fields>>;
    for (const [code, problem] of Object.entries(problems)) {
      const sentence = problemSentences[code as keyof typeof problemSentences];
      const meta = Object.keys(problem["meta"] ?? {});
      for (const [, name] of sentence.matchAll(/`meta\.(\w+)`/g)) expect(meta, code).toContain(name);
      if (/`meta`/.test(sentence)) expect(meta, code).not.toEqual([]);
      if (/`errors`/.test(sentence)) expect(problem, code).toHaveProperty("errors");
      expect(problem["detail"], code).toMatch(/ /);
      expect(problem["meta"], code).not.toEqual({ run: "r" });
    }
    expect(problems["invalid_json"]).toMatchObject({
      meta: { line: expect.any(Number), column: expect.any(Number) },
    });
    expect(problems["session_busy"]).toHaveProperty("retry_after_ms");
  });

  /** The same with references into the document by its name, whose components are compiled once for all examples. */
  const withNamedRoot = (value: unknown): Fields =>
    JSON.parse(JSON.stringify(value).replaceAll('"$ref":"#/', '"$ref":"document#/')) as Fields;

  const checkers = new Map<Fields, Ajv2020>();
  const validators = new Map<unknown, ReturnType<Ajv2020["compile"]>>();

  const checkerOf = (document: Fields): Ajv2020 => {
    const known = checkers.get(document);
    if (known !== undefined) return known;
    const checker = new Ajv2020({ strict: false, validateFormats: false });
    checker.addSchema(withNamedRoot({ components: document["components"] }), "document");
    checkers.set(document, checker);
    return checker;
  };

  const check = (document: Fields, schema: unknown, value: unknown): unknown => {
    const validate = validators.get(schema) ?? checkerOf(document).compile(withNamedRoot(schema));
    validators.set(schema, validate);
    return validate(value) ? null : validate.errors;
  };

  test("AP-50: each fits the schema that stands beside it", () => {
    let count = 0;
    const walk = (document: Fields, at: unknown): void => {
      if (typeof at !== "object" || at === null) return;
      const { schema, example, payload, examples: told } = at as Fields;
      if (schema !== undefined && example !== undefined) {
        count += 1;
        expect(check(document, schema, example), JSON.stringify(example).slice(0, 300)).toBeNull();
        return;
      }
      if (payload !== undefined && Array.isArray(told)) {
        count += told.length;
        for (const each of told as readonly Fields[])
          expect(check(document, payload, each["payload"]), JSON.stringify(each).slice(0, 300)).toBeNull();
        return;
      }
      for (const each of Object.values(at)) walk(document, each);
    };
    walk(openapi, openapi);
    walk(asyncapi, asyncapi);
    expect(count).toBeGreaterThan(150);
    const receipt = { $ref: "#/components/schemas/Receipt" };
    expect(check(openapi, receipt, { input: "in_1" }), "the check can fail").not.toBeNull();
  });

  test("RE-15: no example holds a credential", () => {
    expect(text).not.toMatch(/lk_[a-z2-7]{16}_(?!x+")[A-Za-z0-9_-]{40}/);
    expect(text).not.toMatch(/canary|\bsk-\w/);
  });
});

describe("AP-50: a change that breaks clients is seen", () => {
  const golden = readGolden();

  /** A place in the documents, or a list there. */
  type Place = Record<string, unknown> & unknown[];

  const go = (from: unknown, path: string): Place =>
    path.split(" ").reduce<unknown>((at, key) => (at as Place)[key], from) as Place;

  const drop = (at: Place, name: string): void => void Reflect.deleteProperty(at, name);

  const change = (path: string, edit: (place: Place) => void): readonly string[] => {
    const copy = structuredClone(golden);
    edit(go(copy, path));
    return findBroken(golden, copy);
  };
  const session = "openapi components schemas Session";
  const fields = `${session} properties`;
  const create = "openapi paths /v1/sessions post requestBody content application/json schema";
  const list = "openapi paths /v1/sessions get parameters";
  const usage = "openapi paths /v1/usage get";
  const events = "asyncapi components schemas";
  const messages = "asyncapi components messages";
  const socket = "asyncapi channels socket";

  test("AP-50: the documents of now break nobody (node test/api/documents/golden.ts takes up what was added)", () => {
    expect(findBroken(golden, currentDocuments())).toEqual([]);
  });

  test("AP-50: what was added is taken up, so that it cannot go unnoticed (node test/api/documents/golden.ts)", () => {
    expect(currentDocuments()).toEqual(golden);
  });

  const schemaOf = (parameters: Place, name: string): Place =>
    go(
      parameters.find((each) => (each as Fields)["name"] === name),
      "schema",
    );

  test.each<readonly [string, string, (place: Place) => void, RegExp]>([
    ["a removed route", "openapi paths", (at) => drop(at, "/v1/usage"), /usage: the route is gone/],
    ["a removed field", fields, (at) => drop(at, "status"), /status: the field is gone/],
    ["a field that may be absent", `${session} required`, (at) => at.pop(), /may be absent now/],
    [
      "a field that may be null",
      fields,
      (at) => (at["id"] = { anyOf: [{ type: "string" }, { type: "null" }] }),
      /id: may be null now/,
    ],
    ["another type", fields, (at) => (at["head_seq"] = { type: "string" }), /head_seq: number is gone/],
    [
      "a new field that must be sent",
      create,
      (at) => {
        go(at, "properties")["colour"] = { type: "string" };
        at["required"] = ["colour"];
      },
      /colour: must be sent now/,
    ],
    [
      "a field that is taken no longer",
      create,
      (at) => drop(go(at, "properties"), "title"),
      /title: .* gone/,
    ],
    [
      "a shorter text",
      create,
      (at) => (go(at, "properties title")["maxLength"] = 8),
      /title: maxLength became 8/,
    ],
    [
      "a value that is taken no longer",
      list,
      (at) => go(schemaOf(at, "order"), "enum").pop(),
      /is no value any more/,
    ],
    [
      "a parameter that must be sent",
      `${usage} parameters`,
      (at) => at.push({ name: "why", in: "query", required: true, schema: {} }),
      /query why must be sent now/,
    ],
    ["another scope", usage, (at) => (at["security"] = [{ key: ["admin"] }]), /does not suffice any more/],
    ["a removed event", messages, (at) => drop(at, "event_run_end"), /event_run_end is gone/],
    [
      "a removed field of an event",
      `${events} RunEndEvent properties data properties`,
      (at) => drop(at, "result"),
      /result: the field is gone/,
    ],
    [
      "a form that was not asked for",
      create,
      (at) => (go(at, "properties title")["pattern"] = "^[a-z]+$"),
      /title: pattern became/,
    ],
    [
      "a bound that leaves a value out",
      list,
      (at) => (schemaOf(at, "limit")["exclusiveMaximum"] = 10),
      /limit: exclusiveMaximum became 10/,
    ],
    [
      "fields of other names that are taken no longer",
      `${create} properties metadata`,
      (at) => (at["additionalProperties"] = false),
      /metadata: fields of other names are taken no longer/,
    ],
    [
      "another meaning of what is left out",
      `${create} properties metadata`,
      (at) => (at["default"] = { subject: "sea" }),
      /metadata: its default became/,
    ],
    ["another address of the socket", socket, (at) => (at["address"] = "/ws"), /address became \/ws/],
    ["another subprotocol", socket, (at) => (at["x-subprotocol"] = "limpet.v2"), /subprotocol became/],
    ["a removed close code", `${socket} x-close-codes`, (at) => at.pop(), /the close code \d+ is gone/],
    [
      "a smaller limit",
      `${socket} x-limits`,
      (at) => Object.assign(at, Object.fromEntries(Object.keys(at).map((key) => [key, 1]))),
      /the limit \w+ is smaller/,
    ],
    [
      "a frame that needs more",
      `${messages} client_ack payload required`,
      (at) => at.push("bytes"),
      /bytes: must be sent now/,
    ],
  ])("AP-50: %s", (_, path, edit, said) => {
    expect(change(path, edit).join("\n")).toMatch(said);
  });

  test.each<readonly [string, string, (place: Place) => void]>([
    ["a new route", "openapi paths", (at) => (at["/v1/new"] = { get: { responses: {} } })],
    ["a new field of an answer", fields, (at) => (at["colour"] = { type: "string" })],
    ["a new field that may be sent", `${create} properties`, (at) => (at["colour"] = { type: "string" })],
    ["a field that must be sent no longer", create, (at) => (at["required"] = [])],
    ["a longer text", `${create} properties title`, (at) => (at["maxLength"] = 8_000)],
    ["a new event", messages, (at) => (at["event_new"] = { payload: { type: "object" } })],
    [
      "a new kind of event in the union",
      `${events} Event anyOf`,
      (at) => at.push({ type: "object", properties: { type: { const: "new" } } }),
    ],
    ["a new value that is sent", "openapi components schemas EndReason enum", (at) => at.push("bored")],
    ["another title", "openapi info", (at) => (at["title"] = "Another")],
  ])("AP-50: %s breaks nobody", (_, path, edit) => {
    expect(change(path, edit)).toEqual([]);
  });
});

test("AP-50: the headers that routes take stand at them, and so does what only a stream takes", () => {
  const named = (id: string, place: string): readonly unknown[] =>
    Object.values(openapi["paths"] as Fields)
      .flatMap((methods) => Object.values(methods as Fields) as Fields[])
      .filter(({ operationId }) => operationId === id)
      .flatMap(({ parameters }) => parameters as Fields[])
      .flatMap(({ in: at, name }) => (at === place ? [name] : []));
  expect(
    ["patch", "edit_input", "events", "read_file", "write_file", "delete_file"].map((id) =>
      named(id, "header"),
    ),
  ).toEqual([
    ["If-Match"],
    ["If-Match"],
    ["Last-Event-ID"],
    ["Range"],
    ["If-Match", "If-None-Match"],
    ["If-Match"],
  ]);
  expect(named("events", "query")).toEqual(expect.arrayContaining(["after", "live", "deltas"]));
});

test("AP-50: a generator of clients learns what is bytes, and the fields of a form", () => {
  const operations = Object.values(openapi["paths"] as Fields).flatMap((methods) =>
    Object.values(methods as Fields),
  ) as Fields[];
  const bodyOf = (id: string): unknown =>
    operations.find(({ operationId }) => operationId === id)?.["requestBody"];
  const binary = expect.objectContaining({ type: "string", format: "binary" });
  const octets = { "application/octet-stream": { schema: binary } };
  const text = expect.objectContaining({ type: "string" });
  const form = { type: "object", required: ["file"], properties: { file: binary, name: text, path: text } };
  expect(bodyOf("write_file")).toMatchObject({ content: octets });
  expect(bodyOf("unpack")).toMatchObject({ content: { "application/x-tar": { schema: binary } } });
  expect(bodyOf("upload")).toMatchObject({ content: { ...octets, "multipart/form-data": { schema: form } } });
  const [read] = operations.filter(({ operationId }) => operationId === "read_file");
  expect(read).toMatchObject({ responses: { 200: { content: octets }, 206: { content: octets } } });
});

test("AP-50: the reference page is the one of the code (vitest -u writes it anew)", async () => {
  await expect(createReference()).toMatchFileSnapshot("../../../src/api/reference.md");
});

test("AP-50: the page names the routes by which the client calls them, and no others", () => {
  const named = createReference().matchAll(/^\| `[A-Z]+ [^`]+` \| `(\w+)` \|/gm);
  expect(new Set(Array.from(named, ([, name]) => name))).toEqual(new Set(Object.keys(clientRoutes)));
});

test("AP-50: the page says the fields of all that a call answers with", () => {
  const page = createReference();
  const answers = page.split("\n").filter((line) => /^- `[A-Z]+ .* → /.test(line));
  const named = answers.flatMap((line) => [...line.matchAll(/(?:\d{3} |list of )([A-Z]\w+)( \{\w+)?/g)]);
  const bare = named.filter(([, name, fields]) => fields === undefined && !page.includes(`### ${name}\n`));
  expect(named.map(([, name]) => name)).toContain("Token");
  expect(new Set(bare.map(([, name]) => name)), "an event has its tables").toEqual(new Set(["Event"]));
});

test("AP-50: the page says what holds for a field that is left out", () => {
  const cancel = /- `POST S\/cancel` .*\n(.*)/.exec(createReference())?.[1];
  for (const field of [
    "`mode` (now/after_turn, by default now)",
    "`queued` (return/keep, by default return)",
  ])
    expect(cancel).toContain(field);
  expect(text).toContain("Omitted: the team's sessions.on_busy, which is reject unless");
});

test("AP-50: the requests that the page shows are such as are taken", () => {
  for (const { route, body } of tasks.flatMap(({ calls }) => calls)) {
    const described = describedRoutes.find(({ id }) => id === route);
    if (body !== undefined) expect(described?.body?.schema.safeParse(body).error, route).toBeUndefined();
  }
});

test("AP-50: /llms.txt has README and both references", () => {
  const build = readFileSync(join(root, "src/cli/build/documents.ts"), "utf8");
  for (const page of ["README.md", "src/api/reference.md", "config/reference.md"])
    expect(build).toContain(page);
});

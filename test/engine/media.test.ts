import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { benchOf, refused, say, wireEnv } from "./harness.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = [
  { type: "text", text: "What is it?" },
  { type: "image", media_type: "image/png", data: png },
];
const pdf = [{ type: "document", media_type: "application/pdf", data: "JVBERi0xLjQK" }];

const team = (provider = "", agent = ""): string => `
providers:
  - { name: blind, kind: openai-compatible, base_url: "${fake.url("compatible")}", api_key: "\${KEY}", model: house, ${provider} }
  - { name: seeing, kind: anthropic, base_url: "${fake.url("anthropic")}", api_key: "\${KEY}", model: claude-sonnet-5-5 }
agents: [{ name: helper, effects: [], ${agent} }]`;

const open = (yaml: string, create = {}) => benchOf(yaml, { env: wireEnv(fake) }, create);

test("MO-4: new input with an image that the model cannot take is 415, names the part, and stores nothing", async () => {
  const bench = await open(team());
  const before = bench.state();
  expect(refused(bench, "send", { content: image })).toMatchObject({
    code: "unsupported_media_type",
    detail: "/content/1: the model house takes no images; send text, or choose another model",
    errors: [{ pointer: "/content/1" }],
  });
  expect(bench.performAs({ scopes: ["sessions:write", "admin"] }, "send", { content: image })).toMatchObject({
    problem: {
      detail:
        "/content/1: the model house takes no images, unless the provider blind says compat.images: true",
    },
  });
  expect(bench.state()).toEqual(before);
  expect(bench.rows("blobs")).toEqual([]);
});

test("MO-4 MO-7: a text that comes as a file is text to any model; of another document an administrator is told the way out", async () => {
  const bench = await open(team());
  for (const [media_type, name] of [
    ["text/plain", "a.txt"],
    ["text/markdown", undefined],
  ] as const) {
    const data = Buffer.from(`# tide ${name}`).toString("base64");
    bench.ok("send", { content: [{ type: "document", media_type, data, ...(name && { name }) }] });
    await bench.idle();
    expect(fake.requests.at(-1)?.text).toContain(`${name ?? "document"}:\\n# tide ${name}`);
  }
  expect(bench.performAs({ scopes: ["sessions:write", "admin"] }, "send", { content: pdf })).toMatchObject({
    problem: {
      code: "unsupported_media_type",
      detail:
        "/content/0: the model house takes no documents, unless models.house.capabilities.documents is true",
    },
  });
  const listed = `${team()}\nmodels: { house: { capabilities: { documents: true } } }`;
  (await open(listed)).ok("send", { content: pdf });
});

test("MO-4: the first input of a create is held to the same rule, and no session comes to be", async () => {
  const bench = await benchOf(team(), { env: wireEnv(fake) });
  expect(refused(bench, "create", { input: { content: pdf } }).code).toBe("unsupported_media_type");
  expect(refused(bench, "get").code).toBe("not_found");
});

test("MO-4: an edit of a waiting input is held to it too", async () => {
  const bench = await open(team());
  bench.hold = true;
  bench.send("One");
  await bench.steps();
  const { input } = bench.send("Two", { on_busy: "queue" });
  expect(refused(bench, "edit_input", { input, content: image }).code).toBe("unsupported_media_type");
  bench.hold = false;
  bench.release();
  await bench.idle();
});

test("MO-7, MO-18: capabilities of the model and compat of the provider open the door", async () => {
  const compat = await open(team("compat: { images: true }"));
  compat.ok("send", { content: image });
  await compat.idle();
  expect(fake.requests.at(-1)?.text).toContain("image_url");
  const listed = `${team()}\nmodels: { house: { capabilities: { images: true } } }`;
  (await open(listed)).ok("send", { content: image });
  expect(refused(await open(listed), "send", { content: pdf }).code).toBe("unsupported_media_type");
});

test("MO-4, MO-38: the session's own model decides: what one takes is shown to another as omitted", async () => {
  const bench = await open(team(), { model: "seeing" });
  bench.ok("send", { content: image });
  await bench.idle();
  expect(fake.requests.at(-1)?.text).toContain('"type":"image"');
  bench.ok("patch", { model: null });
  await say(bench, "And now?");
  const { text } = fake.requests.at(-1) ?? { text: "" };
  expect(text).toContain("[image omitted: this model takes no images]");
  expect(text).not.toContain(png);
  expect(refused(bench, "send", { content: image }).code).toBe("unsupported_media_type");
});

test("★ MO-34: an image counts by the size in its header, also in the commit that stores it", async () => {
  const bench = await open(team("compat: { images: true }"), { input: { content: image } });
  await bench.idle();
  const [first] = bench.chat();
  expect(first?.tokens).toBeLessThan(20);
});

test("★ AP-45 AP-18: the bytes of a kept file that an input names go to the model", async () => {
  const bench = await open(team(), { model: "seeing" });
  const kept = { name: "dot.png", media_type: "image/png", data: png, size: 70, sha256: "" };
  const { id } = bench.ok("upload", kept);
  bench.ok("send", { content: [{ type: "image", file: id }] });
  await bench.idle();
  expect(fake.requests.at(-1)?.text).toContain(png);
});

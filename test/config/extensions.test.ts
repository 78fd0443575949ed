import * as z from "zod";
import { expect, test } from "vitest";
import { openAiChat } from "../../src/protocols/openai/chat.ts";
import { openaiCompatible } from "../../src/providers/openai-compatible.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { complaints, team } from "./support.ts";

/** Tools and providers of extensions.ts are checked before anything is built with them (CF-6). */

const said = async (exports: Readonly<Record<string, unknown>>, yaml = team()): Promise<readonly string[]> =>
  (await complaints(yaml, { extensions: { exports } })).map((line) =>
    line.replace("config/acme/extensions.ts:1:1 error ", ""),
  );
const tidesParts = {
  name: "tides",
  description: "Tides.",
  params: z.strictObject({}),
  run: () => ({ content: "low" }),
};
const tides = defineTool(tidesParts);
const box = (...tools: readonly unknown[]) => ({ name: "sea", description: "", tools });
const lagoon = { ...openaiCompatible, kind: "lagoon" };

test("CF-6: a tool that was not made with defineTool is refused, since nothing would check its arguments", async () => {
  const noTool = (index: number): string =>
    `extension_invalid toolboxes[0].tools[${index}]: this is not a tool; create it with defineTool`;
  const plain = { name: "tides", description: "Tides.", run: () => ({ content: "low" }) };
  expect(await said({ toolboxes: [box(plain, { ...tides, params: {} }, tides)] })).toEqual([
    noTool(0),
    noTool(1),
  ]);
  expect(await said({ toolboxes: [box({ ...tides, schema: undefined })] })).toEqual([noTool(0)]);
  const used = team().replace("[filesystem]", "[sea]");
  expect(await said({ toolboxes: [box(tides)] }, used)).toEqual([]);
  const params = z.strictObject({ at: z.date().describe("When.") });
  const dated = defineTool({ name: "dated", description: "D.", params, run: () => ({ content: "" }) });
  expect(await said({ toolboxes: [box(dated)] })).toEqual([
    expect.stringMatching(
      /^extension_invalid toolboxes\[0\]\.tools\[0\]: its parameters cannot be expressed as JSON Schema: ./,
    ),
  ]);
});

test("CF-6: a tool that stands twice in a toolbox is named there, with the way out", async () => {
  const used = team().replace("[filesystem]", "[sea]");
  expect(await said({ toolboxes: [box(tides, tides)] }, used)).toEqual([
    'duplicate_name toolboxes[0].tools[1]: the tool "tides" is in this toolbox twice\n  take one of them out, or give it another name',
  ]);
});

test("CF-6: a private host of a tool that an agent has is warned of, with the way to open it", async () => {
  const bank = defineTool({
    ...tidesParts,
    name: "pay",
    hosts: ["http://127.0.0.1:9314", "https://bank.example"],
  });
  const all = { toolboxes: [box(bank, tides)] };
  expect(await said(all, team().replace("[filesystem]", "[filesystem, sea]"))).toEqual([
    expect.stringMatching(
      /^config\/acme\/team.yaml:\d+:\d+ warning private_address agents\[0\].toolboxes\[1\]: 127.0.0.1:9314, which pay calls, is not public, so only the operator can open it\n {2}add 127.0.0.1:9314 to LIMPET_PRIVATE_EGRESS, in /,
    ),
  ]);
  expect(await said(all), "no agent has it").toEqual([expect.stringContaining("unused_extension")]);
});

test.each(["name", "description", "params", "run"])(
  "CF-6: of a tool without %s the missing key is named, and the tool",
  (key) => {
    const whole: Readonly<Record<string, unknown>> = {
      name: "tides",
      description: "Tides.",
      params: z.strictObject({}),
      run: () => ({ content: "low" }),
    };
    const { [key]: _, ...rest } = whole;
    expect(() => Reflect.apply(defineTool, null, [rest])).toThrow(
      new Error(`${key === "name" ? "a tool" : "tool tides"} has no ${key}`),
    );
  },
);

test("CF-6: a provider that says neither protocol nor traits is refused; one of each kind", async () => {
  const used = team().replace("anthropic", "lagoon\n    base_url: https://lagoon.example/v1");
  const wrong =
    "extension_invalid providers[0]: the provider lagoon needs protocol, baseUrl, auth and traits";
  for (const each of [
    { kind: "lagoon" },
    { ...lagoon, protocol: "soap" },
    { ...lagoon, baseUrl: 5 },
    { ...lagoon, auth: "basic" },
    { ...lagoon, traits: {} },
  ])
    expect([each, (await said({ providers: [each] }, used))[0]?.split("\n")[0]]).toEqual([each, wrong]);
  expect(await said({ providers: [lagoon] }, used)).toEqual([]);
  expect(await said({ providers: [lagoon, lagoon] }, used)).toEqual([
    'name_conflict providers[1]: there is already a provider kind "lagoon"',
  ]);
});

test("CF-1 CF-6: a protocol of the team's own is checked, and providers may name it", async () => {
  const used = team().replace("anthropic", "lagoon\n    base_url: https://lagoon.example/v1");
  const { post } = openAiChat;
  const lines = { ...openAiChat, name: "lines" };
  expect(await said({ protocols: [lines], providers: [{ ...lagoon, protocol: "lines" }] }, used)).toEqual([]);
  const wrong = "extension_invalid protocols[0]: a protocol needs name, path, build, decoder and post";
  for (const each of [
    { ...lines, name: 5 },
    { ...lines, path: undefined },
    { name: "lines", post },
  ])
    expect((await said({ protocols: [each] }))[0]?.split("\n")[0]).toBe(wrong);
  expect(await said({ protocols: [openAiChat] })).toEqual([
    'name_conflict protocols[0]: there is already a protocol "openai-chat"',
  ]);
});

/** A one-agent team over the scripted provider; `replies` and `agent` are YAML. */
export const scripted = (replies: string, agent = "", team = ""): string => `
providers:
  - name: script
    kind: scripted
    model: play
    context_window: 128000
    script:
      script: 1
      pace: { chunk: 24, delay_ms: 0 }
${indent(replies, 6)}
agents:
  - name: tester
    description: Tests.
    toolboxes: [probe]
    permissions: { preset: open }
    effects: []
${indent(agent, 4)}
${team}
`;

export const indent = (text: string, by: number): string =>
  text
    .trim()
    .split("\n")
    .map((line) => (line === "" ? "" : " ".repeat(by) + line))
    .join("\n");

/** One reply as YAML: pieces are texts or `[tool, args]`. */
export const said = (...pieces: readonly (string | readonly [string, object])[]): string =>
  `{ reply: [${pieces
    .map((piece) =>
      typeof piece === "string"
        ? `{ text: ${JSON.stringify(piece)} }`
        : `{ call: ${piece[0]}, args: ${JSON.stringify(piece[1])} }`,
    )
    .join(", ")}] }`;

/** A script of these replies, one after the other. */
export const replies = (...each: readonly string[]): string => `replies: [${each.join(", ")}]`;

/** The reply that ends most runs. */
export const done = said("Done.");

/** A reply that calls the probe's `look`. */
export const look = "{ reply: [{ call: look }] }";

/** A reply that claims to have used so many tokens. */
export const claims = (total: number, piece = "{ call: look }"): string =>
  `{ reply: [${piece}], usage: { input: ${total - 10}, output: 10 } }`;

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

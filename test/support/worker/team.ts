import { indent } from "../scripts.ts";

/** The team of the test Worker: one agent per scenario, each with a script of its own. */

interface Part {
  readonly name: string;
  /** YAML of the script, without `script` and `pace`. */
  readonly replies: string;
  readonly delay?: number;
  readonly chunk?: number;
  /** Tokens of its model's context window. */
  readonly window?: number;
  readonly agent?: string;
  /** Toolboxes of the agent, as YAML. */
  readonly toolboxes?: string;
}

/** Asks for the same call again and again on purpose. */
const repeating = "permissions: { preset: open }\nguards: { tool_loops: false }";

const parts: readonly Part[] = [
  {
    name: "text",
    delay: 3,
    replies: `
replies:
  - reply:
      - reasoning: Let me think about this question for a moment before I answer it.
      - text: { repeat: "All work and no play makes a dull day. ", times: 12 }
  - reply: [{ text: "A second answer, short." }]
  - reply: [{ text: "A third one." }]
  - reply: [{ text: "A fourth one." }]`,
  },
  {
    name: "tools",
    replies: `
replies:
  - reply:
      - text: I look, put and fire at once.
      - { call: look, args: { name: a, ms: 4 } }
      - { call: put, args: { name: b, ms: 6 } }
      - { call: fire, args: { name: c, ms: 3 } }
  - reply: [{ text: "All three are done." }]`,
  },
  {
    name: "ask",
    replies: `
replies:
  - reply: [{ call: ask_user, args: { question: "Which colour?", options: [red, blue] } }]
  - reply: [{ text: "Thanks for the colour." }]`,
  },
  {
    name: "elder",
    replies: `
scenes:
  - name: asks beside
    when: { turn: 1, input: { contains: beside } }
    reply:
      - { call: delegate_to_agent, args: { agent: held, task: Hold, context: "" } }
      - { call: ask_user, args: { question: "Which colour?", options: [red, blue] } }
  - name: hands down
    when: { turn: 1 }
    reply: [{ call: delegate_to_agent, args: { agent: heir, task: Find out the colour, context: "" } }]
  - name: over
    reply: [{ text: "Now I know." }]`,
  },
  {
    name: "heir",
    replies: `
replies:
  - reply: [{ call: delegate_to_agent, args: { agent: ask, task: Ask for the colour, context: "" } }]
  - reply: [{ text: "It was asked." }]`,
  },
  {
    name: "approve",
    agent: `
permissions:
  rules: [{ tool: fire, action: ask }]`,
    replies: `
replies:
  - reply: [{ call: fire, args: { name: a, ms: 3 } }]
  - reply: [{ text: "Fired." }]`,
  },
  {
    name: "vast",
    window: 10_000_000,
    agent: `
permissions:
  rules: [{ tool: fire, action: ask }]`,
    replies: `
scenes:
  - name: fires
    when: { turn: 1, input: { contains: Fire } }
    reply: [{ call: fire, args: { name: a } }, { call: fire, args: { name: b } }]
  - name: over
    reply: [{ text: "It is done." }]`,
  },
  {
    name: "retry",
    replies: `
replies:
  - fail: [{ status: 529, times: 2 }]
    reply: [{ text: "Finally an answer." }]`,
  },
  {
    name: "later",
    replies: `
replies:
  - fail: [{ status: 429, retry_after: 2 }]
    reply: [{ text: "After the wait." }]`,
  },
  {
    name: "broken",
    delay: 3,
    replies: `
replies:
  - fail: [{ error: truncated_stream, after_chars: 60 }]
    reply: [{ text: "A text that breaks off in its first attempt and is said whole in the second." }]`,
  },
  {
    name: "failing",
    replies: `
scenes:
  - name: late
    when: { input: { contains: late } }
    fail: [{ error: timeout, times: 99 }]
    reply: [{ text: "Too late." }]
  - name: garbled
    fail: [{ error: protocol_error, times: 99 }]
    reply: [{ text: "Never said." }]`,
  },
  {
    name: "long",
    chunk: 4000,
    replies: `
replies:
  - reply:
      - text: { repeat: "0123456789", times: 60000 }
      - { call: print, args: { size: 120000 } }
  - reply: [{ text: "That was long." }]`,
  },
  {
    name: "flood",
    delay: 1,
    chunk: 16_384,
    replies: `
replies:
  - reply: [{ text: { repeat: "0123456789abcdef", times: 160000 } }]
  - reply: [{ text: { repeat: "0123456789abcdef", times: 160000 } }]`,
  },
  {
    name: "big",
    agent: repeating,
    replies: `
scenes:
  - name: again
    when: { times: 60 }
    reply: [{ call: print, args: { size: 60000 } }]
  - name: over
    reply: [{ text: "All is printed." }]`,
  },
  {
    name: "slow",
    delay: 10,
    replies: `
replies:
  - reply: [{ text: { repeat: "Slowly it comes along. ", times: 60 } }]
  - reply: [{ text: "Then it was over." }]
  - reply: [{ text: "And again." }]`,
  },
  {
    name: "loop",
    agent: repeating,
    replies: `
scenes:
  - name: again
    when: { times: 30 }
    reply: [{ text: "Once more. " }, { call: put, args: { name: round, ms: 1 } }]
  - name: over
    reply: [{ text: "Thirty turns are over." }]`,
  },
  {
    name: "held",
    replies: `
replies:
  - reply:
      - { call: hold, args: { name: a } }
      - { call: fire, args: { name: b, ms: 1 } }
  - reply: [{ text: "Let go." }]
  - reply: [{ text: "And more." }]
  - reply: [{ text: "And still more." }]`,
  },
  {
    name: "aloud",
    delay: 10,
    replies: `
replies:
  - reply:
      - reasoning: ${"What should be said aloud? ".repeat(40)}
      - text: { repeat: "It is said aloud. ", times: 500 }`,
  },
  {
    name: "capped",
    agent: `
permissions: { preset: open }
max_tokens: 500
guards: { budget: { max_tokens: 5000, on_exceeded: ask } }`,
    replies: `
replies:
  - reply: [{ call: look, args: { name: a } }]
    usage: { input: 4490, output: 10 }
  - reply: [{ text: "With more I could finish." }]
    usage: { input: 490, output: 10 }
  - reply: [{ text: "Once more." }]
    usage: { input: 490, output: 10 }`,
  },
  {
    name: "priced",
    agent: `
permissions: { preset: open }
max_tokens: 500`,
    replies: `
replies:
  - reply: [{ call: look, args: { name: a } }]
    usage: { input: 900, output: 100 }
  - reply: [{ text: "That was not for nothing." }]
    usage: { input: 900, output: 100 }
  - reply: [{ text: "Nor this." }]
    usage: { input: 900, output: 100 }`,
  },
  {
    name: "boss",
    replies: `
replies:
  - reply:
      - call: spawn_agents
        args:
          tasks:
            - { agent: hand, task: Dig, context: "At noon" }
            - { agent: hand, task: Fill, context: "" }
            - { agent: hand, task: Rake, context: "" }
  - reply: [{ text: "All hands are done." }]`,
  },
  {
    name: "pair",
    replies: `
replies:
  - reply:
      - call: spawn_agents
        args:
          tasks:
            - { agent: held, task: Hold, context: "" }
            - { agent: speaker, task: Speak, context: "" }
  - reply: [{ text: "Both are back." }]`,
  },
  {
    name: "hand",
    delay: 2,
    replies: `
replies:
  - reply: [{ text: "I put it." }, { call: put, args: { name: spade, ms: 4 } }]
  - reply: [{ call: task_complete, args: { status: completed, summary: "It is dug." } }]`,
  },
  {
    name: "mind",
    agent: `
permissions: { preset: open }
memory: { recent: 0 }`,
    replies: `
scenes:
  - name: appends
    when: { turn: 1, input: { contains: remember } }
    reply: [{ call: memory_append, args: { text: "The keel is made of oak.", tags: [shipyard] } }]
  - name: searches
    when: { turn: 1, input: { contains: search } }
    reply: [{ call: memory_search, args: { query: "oak keel" } }]
  - name: over
    reply: [{ text: "The boat lies in Kiel." }]`,
  },
  {
    name: "sleeper",
    toolboxes: "[exec]",
    replies: `
replies:
  - reply: [{ call: exec_shell, args: { script: "sleep 60" } }]
  - reply: [{ text: "Awake." }]`,
  },
  {
    name: "worker",
    toolboxes: "[exec, filesystem]",
    replies: `
replies:
  - reply: [{ call: fs_write, args: { path: list, content: "one" } }]
  - reply: [{ call: exec_shell, args: { script: "cat list" } }]
  - reply: [{ text: "Read." }]`,
  },
  {
    name: "checker",
    toolboxes: "[filesystem]",
    agent: `options:
  verify_after_edit: true
  verify_command: "echo run >> runs.log; sleep 1; grep -q good app.txt"`,
    replies: `
replies:
  - reply: [{ call: fs_write, args: { path: app.txt, content: bad } }]
  - reply: [{ call: fs_write, args: { path: app.txt, content: good } }]
  - reply: [{ call: fs_read, args: { path: runs.log } }]
  - reply: [{ text: "Checked twice." }]`,
  },
  {
    name: "files",
    toolboxes: "[filesystem]",
    replies: `
scenes:
  - name: writes
    when: { turn: 1 }
    reply: [{ call: fs_write, args: { path: diary, content: "of {{input}}" } }]
  - name: over
    reply: [{ text: "{{results.fs_write}}" }]`,
  },
  {
    name: "shelf",
    toolboxes: "[state, tasks, notes]",
    replies: `
scenes:
  - name: reads
    when: { turn: 1, input: { contains: read } }
    reply: [{ call: read_note, args: { name: tide } }, { call: shared_state_get, args: { key: k } }]
  - name: writes
    when: { turn: 1, input: { contains: write } }
    reply:
      - { call: write_note, args: { name: tide, content: "Low at noon." } }
      - { call: shared_state_set, args: { key: k, value: [1] } }
      - { call: shared_tasks_create, args: { title: Dig } }
  - name: over
    reply: [{ text: "Done." }]`,
  },
  {
    name: "reader",
    toolboxes: "[http]",
    replies: `
replies:
  - reply: [{ call: http_fetch, args: { url: "https://site.example.com/moved" } }]
  - reply: [{ text: "Read." }]`,
  },
  {
    name: "borrower",
    toolboxes: "[library]",
    agent: repeating,
    replies: `
scenes:
  - name: lends again and again
    when: { input: { contains: shelf }, times: 60 }
    reply: [{ call: library__lend, args: {} }]
  - name: lends
    when: { turn: 1 }
    reply: [{ call: library__lend, args: {} }]
  - name: keeps
    when: { turn: 2 }
    reply: [{ call: library__keep, args: {} }]
  - name: over
    reply: [{ text: "Borrowed." }]`,
  },
];

const provider = ({ name, replies, delay = 0, chunk = 24, window = 1_000_000 }: Part): string => `
- name: ${name}-script
  kind: scripted
  model: ${name}-model
  context_window: ${window}
  rate_limit: { base_delay: 20ms }
  script:
    script: 1
    pace: { chunk: ${chunk}, delay_ms: ${delay} }
${indent(replies, 4)}`;

const agent = ({
  name,
  agent: more = "permissions: { preset: open }",
  toolboxes = "[probe, ask]",
}: Part): string => `
- name: ${name}
  description: Plays ${name}.
  provider: ${name}-script
  toolboxes: ${toolboxes}
  effects: []
${indent(more, 2)}`;

export const yaml = `
providers:
${indent(parts.map(provider).join("\n"), 2)}
  - { name: wire, kind: openai, model: m, base_url: "https://model.example.com/v1", api_key: "\${MODEL_KEY}" }
agents:
${indent(parts.map(agent).join("\n"), 2)}
  - { name: speaker, provider: wire, effects: [] }
defaults: { delegation: {} }
access: { rate_limit: { rpm: 1000000 } }
notes: { scope: tenant }
mcp_servers: [{ name: library, url: "https://mcp.example.com/mcp", timeout: 1s }]
models:
  priced-model: { price: { input: 1000, output: 1000 } }
  aloud-model: { price: { input: 1, output: 1 } }
`;

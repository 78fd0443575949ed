import { expect, test } from "vitest";
import { complaints, scripted, team } from "./support.ts";

/** Mistakes that are hard to see, each with one diagnostic that says where it is and what to write instead. */

/** The diagnostics of a team file, without the folder. */
const said = async (...given: Parameters<typeof complaints>): Promise<readonly string[]> =>
  (await complaints(...given)).map((line) => line.replaceAll("config/acme/", ""));

test("CF-28: a character that nobody sees is named with its place", async () => {
  const way = "an invisible character (U+00A0) stands here: type a blank in its place, or remove it";
  expect(await said(team().replace("kind: anthropic", "kind:\u00a0anthropic"))).toEqual([
    `team.yaml:3:10 error yaml_syntax: ${way}`,
  ]);
  expect(await said(team().replace("    toolboxes", "    \u00a0toolboxes"))).toEqual([
    expect.stringMatching(/^team\.yaml:8:5 error unknown_key agents\[0\]/),
  ]);
  expect((await said(team().replace("    toolboxes", "    \u00a0toolboxes"))).join()).toContain(
    `did you mean "toolboxes"? ${way}`,
  );
  const joined = await said(team().replace("agents:", "\ufeffagents:"));
  expect(joined).toEqual([expect.stringContaining('did you mean "agents"? an invisible character (U+FEFF)')]);
  expect(await said(team().replace("    toolboxes", "  \ttoolboxes"))).toEqual([
    "team.yaml:8:3 error yaml_syntax: there is a tab in the indentation; indent with spaces",
  ]);
});

test("CF-28: no-break spaces and ideographic ones in texts are no mistake", async () => {
  expect(await said(team({ agent: "    instructions: |\n      \u3000潮は\u00a0満ちた。" }))).toEqual([]);
});

test("CF-28: the dash of a word processor is told from that of a list", async () => {
  expect(await said(team().replace("  - name: guide", "  – name: guide"))).toEqual([
    "team.yaml:7:3 error yaml_syntax: begin each item with a plain dash: - name: guide",
  ]);
});

test("CF-28: a text that is not indented below its | is told so", async () => {
  expect(await said(team({ agent: "    instructions: |\n    Be brief." }))).toEqual([
    "team.yaml:10:5 error yaml_syntax: the lines of a text after | or > begin deeper than its key: indent them",
  ]);
});

test("CF-28: a line with a colon that is not indented below its | is told whose text it may be", async () => {
  expect(await said(team({ agent: "    instructions: |\n    Note: be brief." }))).toEqual([
    'team.yaml:10:5 error unknown_key agents[0].Note: unknown key "Note"\n  did you mean "name"? A line of the text of instructions begins deeper than instructions itself.',
  ]);
});

test("CF-28: an effect whose kind stands as a key is told how it is written", async () => {
  expect(await said(team({ agent: "    effects: [{ compact: { threshold: 0.5 } }]" }))).toEqual([
    'team.yaml:9:17 error missing_key agents[0].effects[0].kind: "kind" is required here\n  write it as { kind: compact, params: { … } }',
  ]);
});

test("CF-28: names with commas between them are told how they become a list", async () => {
  expect(await said(team().replace("[filesystem]", "filesystem, exec"))).toEqual([
    "team.yaml:8:16 error wrong_type agents[0].toolboxes: expected a list, found a text\n  write [filesystem, exec]",
  ]);
});

test("CF-25: instructions that are only the name of a file are warned of, since nothing reads it", async () => {
  for (const name of ["./prompts/guide.md", "@guide.txt", "prompts\\guide.md"])
    expect(await said(team({ agent: `    instructions: ${JSON.stringify(name)}` }))).toEqual([
      "team.yaml:9:19 warning key_ignored agents[0].instructions: the text is only the name of a file, which is not read\n  write the text itself, after |; what all agents read stands in context/*.md",
    ]);
  expect(await said(team({ agent: "    instructions: Read guide.md." }))).toEqual([]);
});

test("CF-28: a file that is to be included is told where its text stands instead", async () => {
  expect(await said(team({ agent: "    instructions: !include guide.md" }))).toEqual([
    "team.yaml:9:19 error yaml_tag: another file cannot be included; write here what it holds",
  ]);
  expect(await said(team().replace("${KEY}", "!env KEY"))).toEqual([
    "team.yaml:4:14 error yaml_tag: a secret is written ${NAME}, in quotes inside of braces",
  ]);
  expect(await said(team({ agent: "    instructions: { file: guide.md }" }))).toEqual([
    "team.yaml:9:19 error wrong_type agents[0].instructions: expected a text, found a map\n  write the text itself; after | it may have many lines",
  ]);
});

test("CF-28: what is told to be written is allowed there", async () => {
  expect(await said(team({ provider: "    headers: { Authorization: Bearer sk-1 }" }))).toEqual([
    "team.yaml:6:31 error secret_in_file providers[0].headers.Authorization: a secret must not be written in a file\n  write Bearer ${ANTHROPIC_AUTHORIZATION} and set it: wrangler secret put ANTHROPIC_AUTHORIZATION --env acme; a local one may have allow_literal_secrets: true",
  ]);
  expect(await said(team().replace("${KEY}", "${1KEY}"))).toEqual([
    "team.yaml:4:14 error invalid_reference providers[0].api_key: a reference is written ${NAME}, with letters, digits and _\n  $${ stands for a literal ${",
  ]);
  expect(await said(team({ agent: "    options: { backend: docker }" }))).toEqual([
    'team.yaml:9:25 error invalid_value agents[0].options.backend: "docker" is not allowed here\n  known: native',
  ]);
  expect(await said(team({ agent: "    options: { question_timeout: 999999999d }" }))).toEqual([
    "team.yaml:9:34 error out_of_range agents[0].options.question_timeout: this duration is too long",
  ]);
  expect(await said(team({ agent: "    instructions: !important Be brief." }))).toEqual([
    "team.yaml:9:19 error yaml_tag: a tag is not allowed here; quote a text that begins with !",
  ]);
});

test("CF-1 CF-28: a script beside the team file is told where scripts stand", async () => {
  const { "scripts/tour.yaml": script, "team.yaml": yaml } = scripted(
    "replies: [{ reply: [{ text: Hi. }] }]",
  );
  const files = {
    "team.yaml": String(yaml).replace("scripts/tour.yaml", "tour.yaml"),
    "tour.yaml": String(script),
  };
  expect(await said(files)).toEqual([
    "team.yaml:5:13 error invalid_value providers[0].script: tour.yaml is no file of scripts/\n  move it to scripts/<name>.yaml",
    "tour.yaml:1:1 warning unused_file: nothing reads this file",
  ]);
});

test("CF-1 CF-28: a file that nothing reads is told what it has to be to be read", async () => {
  const files = {
    "team.yaml": team(),
    "skills/tides.md": "Tides.",
    "context/house.txt": "House.",
    "context/sea/tides.md": "Tides.",
    "scripts/tour.yml": "replies: []",
    "tests/guide.test.ts": "",
    "notes.txt": "Notes.",
  };
  expect(await said(files)).toEqual([
    "context/house.txt:1:1 warning unused_file: nothing reads this file\n  rename it to house.md",
    "context/sea/tides.md:1:1 warning unused_file: nothing reads this file\n  move it to context/tides.md: folders in context/ are not read",
    "notes.txt:1:1 warning unused_file: nothing reads this file",
    "scripts/tour.yml:1:1 warning unused_file: nothing reads this file\n  rename it to tour.yaml",
    "skills/tides.md:1:1 warning unused_file: nothing reads this file\n  a skill is a folder: make this skills/tides/SKILL.md",
    "tests/guide.test.ts:1:1 warning unused_file: nothing reads this file\n  move it beside team.yaml: guide.test.ts",
  ]);
});

test("CF-4: a skill without a text, and a picture beside one, are told what to do", async () => {
  const picture = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);
  const skill = "---\ndescription: How to read the tides.\n---\n";
  expect(await said({ "team.yaml": team(), "skills/tides/SKILL.md": skill })).toEqual([
    "skills/tides/SKILL.md:1:1 warning empty_value: the skill has no text\n  write it below its frontmatter",
  ]);
  const beside = { "skills/tides/SKILL.md": `${skill}Text.`, "skills/tides/logo.png": picture };
  expect(await said({ "team.yaml": team(), ...beside })).toEqual([
    "skills/tides/logo.png:1:1 error not_utf8: the file is not UTF-8 here; save it as UTF-8\n  files beside a skill are texts: move anything else out of its folder",
  ]);
});

test("CF-14 TB-17: a folder of Windows is no folder of a workspace", async () => {
  expect(await said(team({ agent: "    options: { working_dir: 'src\\app' }" }))).toEqual([
    expect.stringMatching(
      /^team\.yaml:9:29 error invalid_value agents\[0\]\.options\.working_dir: .* like src or src\/app$/,
    ),
  ]);
  expect(await said(team({ top: "git: { work_dir: 'C:\\app' }" }))).toEqual([
    expect.stringMatching(/^team\.yaml:9:18 error invalid_value git\.work_dir: name a folder like src\/app/),
  ]);
});

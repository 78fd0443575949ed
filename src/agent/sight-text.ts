import type { Json } from "../chat/message.ts";

/** A context view for people: one line per message, one per change (EF-42). */

type Fields = Readonly<Record<string, Json>>;

const fieldsOf = (value: Json | undefined): readonly Fields[] =>
  Array.isArray(value) ? (value as Fields[]) : [];
const text = (value: Json | undefined): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);

const width = 96;

const line = (value: string): string => {
  const flat = value.replace(/\s+/g, " ").trim();
  return flat.length <= width ? flat : `${flat.slice(0, width - 1).trimEnd()}…`;
};

const messageLine = ({ id, role, state, by, tokens, original_tokens: whole, text: said }: Fields): string => {
  const size = tokens === whole ? text(tokens) : `${text(tokens)} of ${text(whole)}`;
  const how = by === null || by === undefined ? text(state) : `${text(state)} by ${text(by)}`;
  return `  ${text(id)}  ${text(role)}, ${how}, ${size} tokens\n      ${line(text(said))}`;
};

const changeLine = ({ effect, edit, messages, tokens_saved: saved }: Fields): string => {
  const count = Array.isArray(messages) ? messages.length : 0;
  const tokens = typeof saved === "number" ? -saved : 0;
  const who = effect === null ? "" : `${text(effect)}: `;
  return `  ${who}${text(edit)} ${count} message${count === 1 ? "" : "s"}, ${tokens > 0 ? "+" : ""}${tokens} tokens`;
};

const toolNames = (value: Json | undefined): string =>
  fieldsOf(value)
    .map(({ name }) => text(name))
    .join(", ");

/** The calls of a turn that has several. */
const callLines = (view: Fields): readonly string[] => {
  const calls = fieldsOf(view["calls"]);
  if (calls.length < 2) return [];
  const each = calls.map(({ call, purpose, outcome }) =>
    [text(call), ...(purpose === "repair" ? ["repair"] : []), text(outcome)].join(" "),
  );
  return [`call ${text(view["call"])} of ${calls.length}: ${each.join(", ")}`];
};

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ["", title, ...lines];

const checks: Readonly<Record<string, string>> = {
  true: "these are the bytes that were sent",
  false: "the bytes differ from those that were sent: the definition has changed since",
};

const hiddenTool = ({ name, by }: Fields): string =>
  by === null ? text(name) : `${text(name)} by ${text(by)}`;

/** Renders what `sightView` gives. */
export const sightText = (view: Fields): string => {
  const hidden = fieldsOf(view["hidden"]);
  const outcome = text(view["outcome"]);
  const removed = fieldsOf(view["hidden_tools"]).map(hiddenTool).join(", ");
  return [
    `${text(view["run"])}, turn ${text(view["turn"])}: ${text(view["agent"])} on ${text(view["provider"])}/${text(view["model"])}${outcome === "ok" ? "" : `, ${outcome}`}`,
    ...callLines(view),
    `${text(view["size"])} of ${text(view["window"])} tokens; ${checks[text(view["verified"])] ?? "not verified"}`,
    `tools: ${toolNames(view["tools"])}${removed === "" ? "" : ` (taken out: ${removed})`}`,
    ...section("changed since the call before", fieldsOf(view["changes"]).map(changeLine)),
    ...section("system prompt", [`      ${line(text(view["system"]))}`]),
    ...section("messages", fieldsOf(view["messages"]).map(messageLine)),
    ...section(
      "out of view, still stored",
      hidden.map(
        ({ id, role, why, tokens }) => `  ${text(id)}  ${text(role)}, ${text(tokens)} tokens, ${text(why)}`,
      ),
    ),
    "",
  ].join("\n");
};

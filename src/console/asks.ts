/** Shows each ask as a card on which a person answers it. */
export const asksScript = String.raw`
const closeAsk = (id) => byId("ask-" + id)?.remove();

/** What a limit counts, and how much of it the API counts as one. */
const units = {
  max_tokens: ["tokens", 1],
  max_cost_usd: ["USD", 1],
  max_duration: ["seconds of model time", 1000],
  max_tool_calls: ["tool calls", 1],
  max_iterations: ["turns", 1],
};
const unitOf = (kind) => units[kind] ?? [kind, 1];
const rounded = (value, round = Math.round) => round(value * 10000) / 10000;

function spentText({ scope, kind, limit, spent }) {
  const [unit, one] = unitOf(kind);
  return "the " + scope + " has used " + rounded(spent / one) + " of " + rounded(limit / one) + " " + unit + ".";
}

/** What is asked, behind the called agent that asks it. */
const asked = (ask, text) => element("p", "", ask.label ? ask.label + ": " + text : text);

/** A limit is raised to twice of what it was, unless the person says otherwise. */
function showRaise(made, ask, answer) {
  const { budget } = ask;
  const [unit, one] = unitOf(budget.kind);
  const least = rounded(budget.least / one, Math.ceil);
  made.append(asked(ask, "Limit reached: " + spentText(budget) + " It goes on with " + least + " or more."));
  const limit = element("input");
  limit.type = "number";
  limit.min = String(least);
  limit.step = "any";
  limit.value = String(Math.max(least, rounded((2 * budget.limit) / one)));
  limit.title = "new limit, in " + unit;
  const raise = () => answer({ decision: "approve", limit: Math.round(Number(limit.value) * one * 1e9) / 1e9 });
  made.append(limit, " " + unit + " ", button("Raise the limit", raise), " ");
  made.append(button("End the run", () => answer({ decision: "deny" })));
}

function showQuestion(made, ask, answer) {
  const { text, options, strict } = ask.question;
  made.append(asked(ask, text));
  for (const option of options) {
    made.append(button(option, () => answer({ decision: "answer", selections: [option] })), " ");
  }
  const own = element("input");
  own.placeholder = "answer";
  const send = button("Answer", () => answer({ decision: "answer", text: own.value }));
  if (!strict || options.length === 0) made.append(own, " ", send);
}

/** Characters that show nothing, or that change where others stand: a command must not look like another one. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const escaped = (text) =>
  text.replace(unseen, (found) =>
    Array.from({ length: found.length }, (_, at) => "\\u" + found.charCodeAt(at).toString(16).padStart(4, "0")).join(""),
  );

/** JSON in lines; what is escaped in it means the same when it is read back. */
const escapedJson = (value) => JSON.stringify(value, null, 2).split("\n").map(escaped).join("\n");

/** Rows that a text takes up: what is approved should be in sight. */
const rowsOf = (text) => text.split("\n").reduce((rows, line) => rows + Math.ceil((line.length + 1) / 90), 0);

function editApproval(answer, input) {
  let value;
  try {
    value = JSON.parse(input.value);
  } catch {
    return note("The edited input is not JSON.", "failure");
  }
  answer({ decision: "edit", input: value });
}

/** How far an approval holds, where the server offers to remember it; null where it does not. */
function rememberChoice(made, remember) {
  if (remember === undefined) return null;
  const choice = element("select");
  for (const [value, text] of [
    ["once", "no"],
    ["session", "in this session"],
    ["agent", "for this agent, 30 days"],
  ]) {
    const option = element("option", "", text);
    option.value = value;
    choice.append(option);
  }
  choice.value = "once";
  choice.title = "what an approval allows from now on";
  const line = element("p", "", "Remember ");
  line.append(element("code", "", escaped(remember.tool + " " + remember.pattern)), " ", choice);
  made.append(line);
  return choice;
}

/** A changed input is approved by its own button: the other one would run what the model wrote. */
function approveButtons(input, answer, choice) {
  const shown = input.value;
  const approve = button("Approve", () => {
    const remember = choice?.value ?? "once";
    if (input.value === shown) answer({ decision: "approve", ...(remember !== "once" && { remember }) });
  });
  const edit = button("Approve as edited", () => editApproval(answer, input));
  const compare = () => {
    approve.disabled = input.value !== shown;
    edit.disabled = input.value === shown;
  };
  input.addEventListener("input", compare);
  compare();
  return [approve, " ", edit, " "];
}

function showApproval(made, ask, answer) {
  const { tool, rule, reason, input: given, remember } = ask.approval;
  const who = ask.label ? { label: escaped(ask.label) } : {};
  made.append(asked(who, "Allow " + escaped(tool) + "? " + escaped(reason ?? "(" + rule + ")")));
  const input = element("textarea");
  input.value = escapedJson(given);
  input.rows = Math.min(16, rowsOf(input.value));
  input.spellcheck = false;
  const why = element("input");
  why.placeholder = "reason";
  made.append(input);
  const choice = rememberChoice(made, remember);
  made.append(...approveButtons(input, answer, choice));
  made.append(why, " ", button("Deny", () => answer({ decision: "deny", ...(why.value && { message: why.value }) })));
}

function showOther(made, ask, answer) {
  made.append(element("p", "", "Open: " + ask.kind), button("Dismiss", () => answer({ decision: "cancel" })));
}

const cards = { question: showQuestion, approval: showApproval, budget: showRaise };

function showAsk(ask) {
  if (byId("ask-" + ask.id)) return;
  const made = element("div", "ask");
  made.id = "ask-" + ask.id;
  const answer = (body) => connection.command({ type: "answer", ask: ask.id, answer: body });
  (cards[ask.kind] ?? showOther)(made, ask, answer);
  asks.append(made);
}
`;

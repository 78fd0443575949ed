import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Ask } from "../../agent/state/ask.ts";
import type { ReportedMessage } from "../../agent/state/events.ts";
import type { Json } from "../../chat/message.ts";
import type { CallEntry } from "../../client/transcript.ts";
import { describePermission } from "../calls/outcomes.ts";
import { CopyButton } from "../parts/controls.tsx";
import { escapeInLine, escapeInLines, escapeJson } from "../parts/escape.ts";
import { countLines, countOf } from "../parts/format.ts";
import { useLoad } from "../parts/load.ts";
import { fieldsOf, outputText, parseJson, textOf } from "../parts/json.ts";
import type { Api } from "../state/api.ts";
import { useApp, useSession } from "../state/app.ts";
import { readPages } from "../state/pages.ts";

/** The opened row of a call: its facts, its output and, on demand, its input. */

const safetyWords: Readonly<Record<string, string>> = {
  read: "only reads",
  idempotent: "may change things, safe to repeat",
  reattach: "may change things",
  unsafe: "may change things",
};

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** Reads the input that a person put in the place of the model's, from their answer. */
const readEditedInput = async (
  api: Api,
  session: string,
  ask: string,
  signal: AbortSignal,
): Promise<Json> => {
  const address = `/sessions/${session}/asks?status=resolved&limit=200`;
  const { rows } = await readPages<Ask>((cursor) => api.read(address + cursor, { signal }));
  return fieldsOf(rows.find(({ id }) => id === ask)?.resolution?.body)["input"] ?? null;
};

/** Reads the input that the model wrote, from the message that asked for the call. */
const readInput = async (api: Api, path: string, call: CallEntry, signal: AbortSignal): Promise<Json> => {
  const address = `${path}&limit=20&retired=true${call.pos === null ? "" : `&before=${call.pos}`}`;
  const { data } = await api.read<{ readonly data: readonly ReportedMessage[] }>(address, { signal });
  const parts = data.flatMap((message) => message.parts);
  const asked = parts.find((part) => part.type === "tool_call" && part.id === call.id);
  return asked?.type === "tool_call" ? parseJson(asked.args) : null;
};

const Input = ({ call }: { readonly call: CallEntry }) => {
  const { api } = useApp();
  const { id, threadOf } = useSession();
  const isCut = call.input_sha256 !== null;
  // Events hold a long input in part.
  const { state, value } = useLoad(`${call.id} ${call.pos}`, async (signal) => {
    if (!isCut) return null;
    const ask = call.asks.find(({ resolution }) => resolution?.decision === "edit");
    if (ask !== undefined) return readEditedInput(api, id, ask.id, signal);
    return readInput(api, `/sessions/${id}/messages?thread=${threadOf(call.id)}`, call, signal);
  });
  if (isCut && state === "loading") return <p class="meta">The input is being read.</p>;
  return (
    <>
      <pre class="output" tabIndex={0} aria-label="Input">
        {escapeJson(value ?? call.input)}
      </pre>
      {isCut && value === null && <p class="meta">This is the beginning of the input.</p>}
    </>
  );
};

/** So many lines of an output show before one asks for all. */
const tail = 12;

const Output = ({ call }: { readonly call: CallEntry }) => {
  const session = useSession();
  const { report } = useApp();
  const [all, setAll] = useState(false);
  const [reading, setReading] = useState(false);
  const [json, setJson] = useState(false);
  const text = call.state === "done" ? outputText(call.output) : call.live;
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = all ? lines : lines.slice(-tail);
  const count = countLines(text);
  const showAll = async (): Promise<void> => {
    setReading(true);
    try {
      if (call.truncated) await session.loadWhole(call);
      setAll(true);
    } finally {
      setReading(false);
    }
  };
  return (
    <>
      {text !== "" && (
        <pre class="output" tabIndex={0} aria-label="Output">
          {shown.join("\n")}
          {call.state !== "done" && <span class="caret" />}
        </pre>
      )}
      {json && <Input call={call} />}
      <div class="line-actions">
        {text !== "" && (count > tail || call.truncated) && !all && (
          <button type="button" class="plain" disabled={reading} onClick={() => report(showAll())}>
            {call.truncated ? "The whole output" : `All ${countOf(count, "line")}`}
          </button>
        )}
        {text !== "" && <CopyButton text={text} label="Copy output" words="Copy output" />}
        <button type="button" class="plain" aria-pressed={json} onClick={() => setJson(!json)}>
          Input as JSON
        </button>
      </div>
    </>
  );
};

/** What stands in the opened row of a call. */
export const CallBody = ({ call }: { readonly call: CallEntry }) => {
  const { keyName } = useSession();
  const permission = describePermission(call, keyName);
  const question = call.asks.at(-1)?.question;
  const where = textOf(fieldsOf(call.input)["cwd"]);
  return (
    <div class="line-body">
      <dl class="facts-list">
        <Fact name="Tool">
          <span class="mono">{escapeInLine(call.tool)}</span>
          {call.safety === null ? "" : `, ${safetyWords[call.safety] ?? call.safety}`}
        </Fact>
        {question !== undefined && <Fact name="Question">{escapeInLines(question.text)}</Fact>}
        {question !== undefined && question.options.length > 0 && (
          <Fact name="Choices">{escapeInLine(question.options.join(" · "))}</Fact>
        )}
        {permission !== null && <Fact name={permission.verb}>{permission.by}</Fact>}
        {where !== null && (
          <Fact name="Where">
            <span class="mono">{escapeInLine(where)}</span>
          </Fact>
        )}
      </dl>
      <Output call={call} />
    </div>
  );
};

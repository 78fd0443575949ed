import { useState } from "preact/hooks";
import { Icon } from "../parts/icons.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { Line } from "./line.tsx";
import { explainReturned, readReturned } from "./sentences.ts";
import type { NoteOf } from "./sentences.ts";

/** Notes that few conversations have: their code is loaded with the first one. */

const verifyWords: Readonly<Record<string, string>> = {
  passed: "passed",
  failed: "failed",
  exhausted: "still fails",
  error: "could not be run",
  skipped: "not needed",
};

export const Verify = ({ event }: { readonly event: NoteOf<"verify"> }) => {
  const [open, setOpen] = useState(false);
  const { state, command, output_tail: tail = "" } = event.data;
  if (state === "started") return null;
  const failed = state !== "passed" && state !== "skipped";
  const output = tail.replace(/(^|\n)\[exit 0\]$/, "");
  // A check that printed nothing may have had nothing to check.
  const words = state === "passed" && output.trim() === "" ? "no complaints" : verifyWords[state];
  return (
    <div class="entry tool">
      <Line
        icon="command"
        open={open}
        onToggle={() => setOpen(!open)}
        result={<span class={failed ? "bad" : "good"}>{words ?? state}</span>}
        time=""
      >
        <span class="verb">Checked the edits</span>
      </Line>
      {open && (
        <div class="line-body">
          <p class="mono">{escapeInLine(command)}</p>
          <pre class="output" tabIndex={0}>
            {output === "" ? "It printed nothing." : output}
          </pre>
        </div>
      )}
    </div>
  );
};

/** Puts a text into the field for messages, below what stands in it, as if a person had typed it. */
const fillComposer = (text: string): void => {
  const field = document.getElementById("composer");
  if (!(field instanceof HTMLTextAreaElement)) return;
  field.value = [field.value, text].filter((each) => each !== "").join("\n");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
};

/** A message that no run took up: its text is still there, and can be taken back into the field. */
export const Returned = ({ event }: { readonly event: NoteOf<"input_returned"> }) => {
  const { text, files } = readReturned(event.data.content);
  return (
    <div class="entry said returned">
      <div class="bubble">
        {text}
        {files.map((name, at) => (
          <span key={at} class="attachment">
            <Icon name="clip" /> {escapeInLine(name)}
          </span>
        ))}
      </div>
      <span class="meta">
        {explainReturned(event.data.reason)}
        {files.length > 0 && ". What was attached has to be attached again"}
        {text !== "" && (
          <>
            {" · "}
            <button type="button" class="link" onClick={() => fillComposer(text)}>
              Take back into the field
            </button>
          </>
        )}
      </span>
    </div>
  );
};

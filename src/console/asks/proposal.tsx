import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Json } from "../../chat/message.ts";
import { CopyButton, Tabs } from "../parts/controls.tsx";
import { DiffCount } from "../calls/diff-count.tsx";
import { DiffView } from "../parts/diff-view.tsx";
import { diffTexts } from "../parts/compare-texts.ts";
import type { Diff } from "../parts/diff.ts";
import { escapeInLines, escapeJson, escapeUnseen } from "../parts/escape.ts";
import { useLoad } from "../parts/load.ts";
import { encodePath } from "../state/api.ts";
import type { Api } from "../state/api.ts";
import { useApp, useSession } from "../state/app.ts";
import { orNull } from "../state/missing.ts";
import { listViews } from "./edits.ts";
import type { Version, View } from "./edits.ts";
import { rowsOf } from "./subject.ts";
import type { EditedInput, Subject } from "./subject.ts";
import { LineCount, Values } from "./values.tsx";

/** What an approval is about, in views that all show what would run, changes of a person included. */

/** Reads a text file of the workspace. */
const readFile = async (api: Api, address: string, signal: AbortSignal): Promise<string> =>
  (await api.request(address, { signal })).text();

/** A whole file is compared with what is there now. */
const useFileDiff = (subject: Subject): Diff | null => {
  const { api } = useApp();
  const { id } = useSession();
  const path = subject.kind === "file" && subject.before === null ? subject.path : null;
  const { state, value } = useLoad(`${path}`, async (signal) =>
    path === null ? null : orNull(readFile(api, `/sessions/${id}/workspace/${encodePath(path)}`, signal)),
  );
  const found = state === "ready" ? (value ?? "") : null;
  return useMemo(() => {
    if (subject.kind !== "file") return null;
    if (subject.before !== null) return diffTexts(subject.before, subject.after, null);
    return found === null ? null : diffTexts(found, subject.after);
  }, [subject, found]);
};

/** The text that is shown as a whole; empty where none is. */
const textOf = (subject: Subject): string => {
  if (subject.kind === "command") return subject.command;
  if (subject.kind === "plan") return subject.plan;
  if (subject.kind === "patch") return subject.patch;
  return subject.kind === "file" ? subject.after : "";
};

const Shown = ({ subject, diff }: { readonly subject: Subject; readonly diff: Diff | null }) => {
  if (subject.kind === "command")
    return (
      <div class="command">
        <span class="prompt" aria-hidden="true">
          $
        </span>
        <code>{escapeInLines(subject.command)}</code>
        <CopyButton text={subject.command} label="Copy the command" />
      </div>
    );
  if (subject.kind === "plan" || subject.kind === "patch")
    return <pre class="sheet">{escapeInLines(textOf(subject))}</pre>;
  if (subject.kind === "values") return null;
  if (diff !== null) return <DiffView diff={diff} bare label={`Changes of ${subject.path}`} />;
  return (
    <>
      <p class="meta">The file as it is now is not known. All of this would be written:</p>
      <pre class="sheet">{escapeInLines(subject.after)}</pre>
    </>
  );
};

const Thing = ({ subject, diff }: { readonly subject: Subject; readonly diff: Diff | null }) => (
  <>
    <Shown subject={subject} diff={diff} />
    {(subject.kind === "values" || subject.values.length > 0) && <Values values={subject.values} />}
  </>
);

interface EditorProps {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

const Editor = ({ label, text, onText }: EditorProps) => {
  const area = useRef<HTMLTextAreaElement>(null);
  // The button that opened the editor is gone: a key must not reach the page meanwhile.
  useLayoutEffect(() => area.current?.focus(), []);
  return (
    <textarea
      ref={area}
      class="editor"
      aria-label={label}
      rows={rowsOf(text)}
      spellcheck={false}
      value={text}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
    />
  );
};

const thingWords = {
  command: "Command",
  file: "Diff",
  patch: "Diff",
  plan: "Plan",
  values: "Values",
} as const;

const labelView = (view: View, kind: Subject["kind"]): string =>
  ({ thing: thingWords[kind], edit: "Edit", changes: "Your changes", input: "Input" })[view];

/** What people call the call's act in the card's title bar. */
const barTitle = (subject: Subject, tool: string): string => (subject.kind === "file" ? subject.path : tool);

interface ProposalProps {
  /** The tool, and the folder that it works in. */
  readonly tool: string;
  /** What would run, and its subject. */
  readonly input: Json;
  readonly subject: Subject;
  readonly draft: EditedInput;
  readonly version: Version;
  /** The difference to what the model wrote. */
  readonly changes: Diff;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly onText: (text: string) => void;
}

/** The thing itself, its text to edit, what a person changed in it, and its input as JSON on demand. */
export const Proposal = (props: ProposalProps) => {
  const { tool, input, subject, draft, version, changes, view, onView, onText } = props;
  const diff = useFileDiff(subject);
  const views = listViews(version, view === "edit");
  const shown = views.includes(view) ? view : "edit";
  return (
    <div class="proposal">
      <div class="proposal-bar">
        <span class="mono cut">{escapeUnseen(barTitle(subject, tool))}</span>
        {diff === null ? <LineCount text={textOf(subject)} /> : <DiffCount {...diff} />}
        <Tabs
          label="How it is shown"
          controls="proposal"
          chosen={shown}
          onChoose={onView}
          tabs={views.map((id) => ({ id, label: labelView(id, subject.kind) }))}
        />
      </div>
      <div id="proposal" role="tabpanel" aria-label={labelView(shown, subject.kind)}>
        {shown === "thing" && <Thing subject={subject} diff={diff} />}
        {shown === "edit" && <Editor label={draft.label} text={version.text} onText={onText} />}
        {shown === "changes" && <DiffView diff={changes} bare label="What you changed" />}
        {shown === "input" && (
          <pre class="sheet" tabIndex={0}>
            {escapeJson(input)}
          </pre>
        )}
      </div>
    </div>
  );
};

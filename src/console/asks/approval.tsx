import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Json } from "../../chat/message.ts";
import type { TranscriptAsk } from "../../client/transcript.ts";
import { CopyButton, Menu, Tabs } from "../parts/controls.tsx";
import { DiffCount, DiffView } from "../parts/diff-view.tsx";
import { diffTexts } from "../parts/diff.ts";
import type { Diff } from "../parts/diff.ts";
import { escapeInLines, escapeUnseen, escapeJson } from "../parts/escape.ts";
import { countOf } from "../parts/format.ts";
import { useLoad } from "../parts/hooks.ts";
import { withCommand } from "../parts/key-names.ts";
import { useSession } from "../state/app.ts";
import { Deny } from "./deny.tsx";
import { AskFrame } from "./frame.tsx";
import type { AskProps } from "./frame.tsx";
import { draftOf, rowsOf, subjectOf } from "./subject.ts";
import type { EditedInput, Subject } from "./subject.ts";
import { Values } from "./values.tsx";
import { describeProposal, describeRule } from "./words.ts";
import type { ProposalWords } from "./words.ts";

/** An approval: the thing itself first, then its buttons. */

type Remember = "once" | "session" | "agent";
type Tab = "thing" | "edit" | "input";

const rememberWords: readonly { readonly id: Remember; readonly label: string }[] = [
  { id: "once", label: "Just this once" },
  { id: "session", label: "For this session" },
  { id: "agent", label: "For this agent" },
];

const Heading = ({ agent, words }: { readonly agent: string; readonly words: ProposalWords }) => {
  const { verb, object, isProse } = words;
  return (
    <h2>
      May {agent} {verb}
      {object !== "" && <> {isProse ? `“${object}”` : <span class="mono">{object}</span>}</>}?
    </h2>
  );
};

/** A whole file is compared with what is there now. */
const useFileDiff = (subject: Subject, call: string): Diff | null => {
  const { readFile } = useSession();
  const needsFile = subject.kind === "file" && subject.before === null;
  const found = useLoad(call, async (signal) => (needsFile ? readFile(subject.path, signal) : null));
  return useMemo(() => {
    if (subject.kind !== "file") return null;
    if (subject.before !== null) return diffTexts(subject.before, subject.after, null);
    return found.state === "ready" ? diffTexts(found.value ?? "", subject.after) : null;
  }, [subject, found.state, found.value]);
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
  if (subject.kind === "plan") return <pre class="sheet">{escapeInLines(subject.plan)}</pre>;
  if (subject.kind === "patch") return <pre class="sheet">{escapeInLines(subject.patch)}</pre>;
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
  readonly draft: EditedInput;
  readonly text: string;
  readonly onText: (text: string) => void;
}

const Editor = ({ draft, text, onText }: EditorProps) => {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  return (
    <textarea
      ref={area}
      class="editor"
      aria-label={draft.label}
      rows={rowsOf(text)}
      spellcheck={false}
      value={text}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
    />
  );
};

const countChanged = (before: string, after: string): number => {
  const { added, removed } = diffTexts(before, after);
  return Math.max(added, removed);
};

const tabWords = (kind: Subject["kind"]): string =>
  ({ command: "Command", file: "Diff", patch: "Diff", plan: "Plan", values: "Values" })[kind];

/** What people call the call's act in the card's title bar. */
const barTitle = (subject: Subject, tool: string): string => (subject.kind === "file" ? subject.path : tool);

interface SheetProps {
  readonly subject: Subject;
  readonly tool: string;
  readonly json: string;
  readonly diff: Diff | null;
  readonly draft: EditedInput;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly tab: Tab;
  readonly onTab: (tab: Tab) => void;
}

/** The thing itself, its text to edit, and its input as JSON on demand. */
const Sheet = ({ subject, tool, json, diff, draft, text, onText, tab, onTab }: SheetProps) => (
  <div class="proposal">
    <div class="proposal-bar">
      <span class="mono cut">{escapeUnseen(barTitle(subject, tool))}</span>
      {diff !== null && <DiffCount {...diff} />}
      <Tabs
        label="How it is shown"
        controls="proposal"
        chosen={tab}
        onChoose={onTab}
        tabs={[
          { id: "thing", label: tabWords(subject.kind) },
          { id: "edit", label: "Edit" },
          { id: "input", label: "Input" },
        ]}
      />
    </div>
    <div id="proposal" role="tabpanel" aria-label={tabWords(subject.kind)}>
      {tab === "thing" && <Thing subject={subject} diff={diff} />}
      {tab === "edit" && <Editor draft={draft} text={text} onText={onText} />}
      {tab === "input" && (
        <pre class="sheet" tabIndex={0}>
          {json}
        </pre>
      )}
    </div>
  </div>
);

interface ButtonsProps extends Pick<AskProps, "busy" | "answer"> {
  readonly changed: boolean;
  readonly edited: ReturnType<EditedInput["read"]>;
  readonly remember: Remember;
  readonly onUndo: () => void;
  readonly onEdit: () => void;
  readonly onDeny: () => void;
}

/** A changed text is approved by its own button: the other one would run what the model wrote. */
const Buttons = ({ busy, answer, changed, edited, remember, onUndo, onEdit, onDeny }: ButtonsProps) =>
  changed ? (
    <>
      <button
        type="button"
        class="button primary"
        data-key="mod-enter"
        disabled={busy || edited === null}
        onClick={() => edited !== null && answer({ decision: "edit", input: edited.input })}
      >
        Approve my version <kbd aria-hidden="true">{withCommand("↵")}</kbd>
      </button>
      <button type="button" class="plain" onClick={onUndo}>
        Undo my changes
      </button>
    </>
  ) : (
    <>
      <button
        type="button"
        class="button primary"
        data-key="mod-enter"
        disabled={busy}
        onClick={() => answer({ decision: "approve", ...(remember === "once" ? {} : { remember }) })}
      >
        Approve <kbd aria-hidden="true">{withCommand("↵")}</kbd>
      </button>
      <button type="button" class="button" data-key="e" disabled={busy} onClick={onEdit}>
        Edit
      </button>
      <button type="button" class="button" data-key="d" disabled={busy} onClick={onDeny}>
        Deny…
      </button>
    </>
  );

interface RememberProps {
  readonly pattern: string;
  readonly remember: Remember;
  readonly onChoose: (remember: Remember) => void;
}

/** How long an approval holds; what it would allow from now on stands beside each choice. */
const RememberMenu = ({ pattern, remember, onChoose }: RememberProps) => (
  <Menu
    label="How long this holds"
    class="remember"
    opens="up"
    items={rememberWords.map(({ id, label }) => ({
      label,
      checked: id === remember,
      ...(id === "once" ? {} : { hint: pattern }),
      run: () => onChoose(id),
    }))}
  >
    {rememberWords.find(({ id }) => id === remember)?.label}
  </Menu>
);

const noApproval: NonNullable<TranscriptAsk["approval"]> = { tool: "", input: null, rule: "" };

/** The text that is edited, and what it comes to. */
const useDraft = (tool: string, input: Json, id: string) => {
  const draft = useMemo(() => draftOf(tool, input), [id]);
  const [text, setText] = useState(draft.text);
  const changed = text !== draft.text;
  return { draft, text, setText, changed, edited: changed ? draft.read(text) : null };
};

interface DecisionProps extends AskProps {
  readonly own: ReturnType<typeof useDraft>;
  readonly pattern: string | null;
  readonly onTab: (tab: Tab) => void;
}

/** The buttons, or the reason of a denial. */
const Decision = ({ agent, busy, answer, own, pattern, onTab }: DecisionProps) => {
  const [denies, setDenies] = useState(false);
  const [remember, setRemember] = useState<Remember>("once");
  const undo = (): void => {
    own.setText(own.draft.text);
    onTab("thing");
  };
  if (denies)
    return (
      <Deny
        agent={agent}
        busy={busy}
        onBack={() => setDenies(false)}
        onDeny={(message) => answer({ decision: "deny", ...(message === "" ? {} : { message }) })}
      />
    );
  return (
    <>
      <div class="ask-buttons">
        <Buttons
          busy={busy}
          answer={answer}
          changed={own.changed}
          edited={own.edited}
          remember={remember}
          onUndo={undo}
          onEdit={() => onTab("edit")}
          onDeny={() => setDenies(true)}
        />
        {pattern !== null && !own.changed && (
          <RememberMenu pattern={pattern} remember={remember} onChoose={setRemember} />
        )}
        {own.changed && <span class="meta told">{agent} is told what you changed</span>}
      </div>
      {pattern !== null && remember !== "once" && !own.changed && (
        <p class="ask-rule">
          From now on allowed without asking: <code>{pattern}</code>
        </p>
      )}
    </>
  );
};

export const Approval = (props: AskProps) => {
  const { ask, agent } = props;
  const { tool, input, rule, reason, remember } = ask.approval ?? noApproval;
  const subject = useMemo(() => subjectOf(tool, input), [ask.id]);
  const diff = useFileDiff(subject, ask.id);
  const own = useDraft(tool, input, ask.id);
  const [tab, setTab] = useState<Tab>("thing");
  const differs = countOf(countChanged(own.draft.text, own.text), "line");
  return (
    <AskFrame
      ask={ask}
      icon={own.changed ? "pencil" : "shield"}
      tag={own.changed ? `You are editing what ${agent} may do` : "Needs your approval"}
      {...(own.changed && { aside: `${differs} changed` })}
    >
      <Heading agent={agent} words={describeProposal(subject, tool, input)} />
      <Sheet
        subject={subject}
        tool={tool}
        json={escapeJson(input)}
        diff={diff}
        draft={own.draft}
        text={own.text}
        onText={own.setText}
        tab={tab}
        onTab={setTab}
      />
      {own.changed && own.edited === null && (
        <p class="bad">This is no JSON yet: mend it, or undo your changes.</p>
      )}
      <p class="ask-rule">{escapeUnseen(describeRule(rule, reason))}</p>
      <Decision
        {...props}
        own={own}
        pattern={remember === undefined ? null : escapeUnseen(`${remember.tool} ${remember.pattern}`)}
        onTab={setTab}
      />
    </AskFrame>
  );
};

import { useMemo, useState } from "preact/hooks";
import type { TranscriptAsk } from "../../client/transcript.ts";
import { diffTexts } from "../parts/compare-texts.ts";
import type { Diff } from "../parts/diff.ts";
import { escapeUnseen } from "../parts/escape.ts";
import { countOf } from "../parts/format.ts";
import { Decision } from "./decision.tsx";
import { keepEdit, readEdit, readVersion } from "./edits.ts";
import type { View } from "./edits.ts";
import { AskFrame, useFocusIn, useInSight } from "./frame.tsx";
import type { AskProps } from "./frame.tsx";
import { Proposal } from "./proposal.tsx";
import { draftOf, subjectOf } from "./subject.ts";
import { describeProposal, describeRule } from "./words.ts";
import type { ProposalWords } from "./words.ts";

/** An approval: the thing itself first, then its buttons. */

const Heading = ({ agent, words }: { readonly agent: string; readonly words: ProposalWords }) => {
  const { verb, object, isProse } = words;
  return (
    <h2>
      May {agent} {verb}
      {object !== "" && <> {isProse ? `“${object}”` : <span class="mono">{object}</span>}</>}?
    </h2>
  );
};

type Approved = NonNullable<TranscriptAsk["approval"]>;

const noApproval: Approved = { tool: "", input: null, rule: "" };

/** What would run as the card stands; what a person changed is still there when they come back to it. */
const useVersion = (ask: string, { tool, input, directory }: Approved) => {
  const draft = useMemo(() => draftOf(tool, input), [ask]);
  const [text, setText] = useState(() => readEdit(ask) ?? draft.text);
  const version = useMemo(() => readVersion(draft, input, text), [draft, text]);
  const shown = version.run === null ? input : version.run.input;
  return {
    draft,
    version,
    /** The input that the card speaks of: the model's while the text is none. */
    shown,
    subject: useMemo(() => subjectOf(tool, shown, directory), [tool, shown]),
    changes: useMemo(() => diffTexts(draft.text, text), [draft, text]),
    setText: (next: string): void => {
      setText(next);
      keepEdit(ask, next === draft.text ? null : next);
    },
  };
};

const countChanges = ({ added, removed }: Diff): string =>
  `${countOf(Math.max(added, removed), "line")} changed`;

const editButton = '[data-key="e"]';

/** The views of a card, what is open in it, and the way back from there. */
const useCard = (own: ReturnType<typeof useVersion>) => {
  const { card, focusNext } = useFocusIn();
  const [view, setView] = useState<View>("thing");
  const [denies, setDenies] = useState(false);
  useInSight(card, `${view} ${denies}`);
  const undo = (): void => {
    own.setText(own.draft.text);
    setView("thing");
    focusNext(editButton);
  };
  /** Closes the editor and keeps the changes: an approval would run the edited version. */
  const leaveEditor = (): void => {
    setView(own.version.run === null ? "changes" : "thing");
    focusNext(own.version.isChanged ? '[role="tab"][aria-selected="true"]' : editButton);
  };
  const showDenial = (next: boolean): void => {
    setDenies(next);
    if (!next) focusNext('[data-key="d"]');
  };
  const edits = view === "edit" || own.version.isChanged;
  return {
    card,
    view,
    denies,
    showDenial,
    undo,
    show: setView,
    goBack: denies ? (): void => showDenial(false) : edits ? leaveEditor : null,
  };
};

export const Approval = (props: AskProps) => {
  const { ask, agent } = props;
  const approval = ask.approval ?? noApproval;
  const { tool, directory, rule, reason, remember } = approval;
  const own = useVersion(ask.id, approval);
  const { card, view, denies, showDenial, undo, show, goBack } = useCard(own);
  const { isChanged, run } = own.version;
  return (
    <AskFrame
      ask={ask}
      card={card}
      onBack={goBack}
      icon={isChanged ? "pencil" : "shield"}
      tag={isChanged ? `You are editing what ${agent} may do` : "Needs your approval"}
      {...(isChanged && { aside: countChanges(own.changes) })}
    >
      <Heading agent={agent} words={describeProposal(own.subject, tool, own.shown)} />
      <Proposal
        tool={directory === undefined ? tool : `${tool} in ${directory}`}
        input={own.shown}
        subject={own.subject}
        draft={own.draft}
        version={own.version}
        changes={own.changes}
        view={view}
        onView={show}
        onText={own.setText}
      />
      {run === null && <p class="bad">This is no JSON yet: mend it, or undo your changes.</p>}
      <p class="ask-rule">{escapeUnseen(describeRule(rule, reason))}</p>
      <Decision
        {...props}
        version={own.version}
        pattern={remember === undefined ? null : escapeUnseen(`${remember.tool} ${remember.pattern}`)}
        denies={denies}
        onDenies={showDenial}
        onEdit={view === "edit" ? null : () => show("edit")}
        onUndo={undo}
      />
    </AskFrame>
  );
};

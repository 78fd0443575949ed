import { useState } from "preact/hooks";
import { Menu } from "../parts/controls.tsx";
import { withCommand } from "../parts/key-names.ts";
import { Deny } from "./deny.tsx";
import type { Version } from "./edits.ts";
import type { AskProps } from "./frame.tsx";
import { describeLasting, reachWords } from "./reach.ts";
import type { Reach } from "./reach.ts";

/** The buttons of an approval, how far it reaches, and the reason of a denial. */

interface VersionButtonsProps extends Pick<AskProps, "busy" | "answer"> {
  readonly version: Version;
  readonly onUndo: () => void;
}

/** A changed text is approved by its own button: the other one would run what the model wrote. */
const VersionButtons = ({ busy, answer, version: { run }, onUndo }: VersionButtonsProps) => (
  <>
    <button
      type="button"
      class="button primary"
      data-key="mod-enter"
      disabled={busy || run === null}
      onClick={() => run !== null && answer({ decision: "edit", input: run.input })}
    >
      Approve my version <kbd aria-hidden="true">{withCommand("↵")}</kbd>
    </button>
    <button type="button" class="plain" onClick={onUndo}>
      Undo my changes
    </button>
  </>
);

interface ApproveButtonsProps extends Pick<AskProps, "busy" | "answer"> {
  readonly remember: Reach;
  /** Null while it is edited. */
  readonly onEdit: (() => void) | null;
}

const ApproveButtons = ({ busy, answer, remember, onEdit }: ApproveButtonsProps) => (
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
    {onEdit !== null && (
      <button type="button" class="button" data-key="e" disabled={busy} onClick={onEdit}>
        Edit
      </button>
    )}
  </>
);

interface ReachProps {
  readonly pattern: string;
  readonly remember: Reach;
  readonly onChoose: (remember: Reach) => void;
}

/** How far an approval reaches; until when, and what it would allow from now on, stands beside each choice. */
const ReachMenu = ({ pattern, remember, onChoose }: ReachProps) => (
  <Menu
    label="How far this reaches"
    class="remember"
    opens="up"
    items={reachWords.map(({ id, label, detail }) => ({
      label,
      checked: id === remember,
      hint: id === "once" ? `${detail}.` : `${detail}: ${pattern}`,
      run: () => onChoose(id),
    }))}
  >
    {reachWords.find(({ id }) => id === remember)?.label}
  </Menu>
);

interface DecisionProps extends AskProps {
  readonly version: Version;
  /** What may be remembered; null where nothing may. */
  readonly pattern: string | null;
  /** The reason of a denial is being written. */
  readonly denies: boolean;
  readonly onDenies: (denies: boolean) => void;
  readonly onEdit: ApproveButtonsProps["onEdit"];
  readonly onUndo: () => void;
}

/** The buttons, or the reason of a denial. */
export const Decision = (props: DecisionProps) => {
  const { ask, agent, busy, answer, version, pattern, denies, onDenies, onEdit, onUndo } = props;
  const [remember, setRemember] = useState<Reach>("once");
  if (denies)
    return (
      <Deny
        ask={ask.id}
        agent={agent}
        busy={busy}
        onBack={() => onDenies(false)}
        onDeny={(message) => answer({ decision: "deny", ...(message === "" ? {} : { message }) })}
      />
    );
  const { isChanged } = version;
  return (
    <>
      <div class="ask-buttons">
        {isChanged ? (
          <VersionButtons busy={busy} answer={answer} version={version} onUndo={onUndo} />
        ) : (
          <ApproveButtons busy={busy} answer={answer} remember={remember} onEdit={onEdit} />
        )}
        <button type="button" class="button" data-key="d" disabled={busy} onClick={() => onDenies(true)}>
          Deny…
        </button>
        {pattern !== null && !isChanged && (
          <ReachMenu pattern={pattern} remember={remember} onChoose={setRemember} />
        )}
        {isChanged && <span class="meta told">{agent} is told what you changed</span>}
      </div>
      {pattern !== null && remember !== "once" && !isChanged && (
        <p class="ask-rule">
          {describeLasting(remember)} (“Permissions” in the “…” menu): <code>{pattern}</code>
        </p>
      )}
    </>
  );
};

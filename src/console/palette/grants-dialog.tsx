import { useState } from "preact/hooks";
import { describeFault } from "../conversation/problems.ts";
import { Dialog, LeaveButton } from "../parts/dialog.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { formatTime } from "../parts/format.ts";
import { useStore } from "../parts/hooks.ts";
import { useLoad } from "../parts/load.ts";
import { titleOf } from "../sessions/status.ts";
import { useApp } from "../state/app.ts";
import { nameOf } from "../asks/closed.ts";
import { readPages } from "../state/pages.ts";
import { nameKey } from "../state/session.ts";
import { describeAllowed, describeReach } from "./reach.ts";
import type { GrantRow } from "./reach.ts";

/** The permissions that approvals have left behind, each to be taken back. */

interface GrantProps {
  readonly grant: GrantRow;
  readonly onRevoke: () => void;
  /** The page goes to the session of the permission. */
  readonly onLeave: () => void;
}

const Grant = ({ grant, onRevoke, onLeave }: GrantProps) => {
  const { sessions, key } = useApp();
  const row = useStore(sessions.list).rows.find(({ id }) => id === grant.session);
  const { words, code } = describeAllowed(grant);
  return (
    <li class="row-of-buttons">
      <span>
        {words} <code>{code}</code>
        <br />
        <span class="meta">
          {describeReach(grant)}{" "}
          <a href={`#${grant.session}`} onClick={onLeave}>
            {row === undefined ? "one that the list does not show" : titleOf(row)}
          </a>
          <br />
          {nameOf(grant.by, nameKey(useStore(key)))} allowed it · {formatTime(grant.at, Date.now())}
        </span>
      </span>
      <button type="button" class="button" onClick={onRevoke}>
        Take it back
      </button>
    </li>
  );
};

export const GrantsDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const { api } = useApp();
  const [changes, setChanges] = useState(0);
  const [refusal, setRefusal] = useState<string | null>(null);
  const { value, problem } = useLoad(
    "grants",
    async (signal) =>
      (await readPages<GrantRow>((cursor) => api.read(`/grants?limit=200${cursor}`, { signal }))).rows,
    changes,
  );
  /** What keeps it from being taken back is said here: the page behind a dialog is out of reach. */
  const revoke = async (id: string): Promise<void> => {
    setRefusal(null);
    try {
      await api.request(`/grants/${id}`, { method: "DELETE" });
    } catch (fault) {
      setRefusal(describeFault(fault));
    }
    setChanges((before) => before + 1);
  };
  return (
    <Dialog title="Permissions" onClose={onClose}>
      {refusal !== null && (
        <p class="bad" role="alert">
          {escapeInLine(refusal)}
        </p>
      )}
      {value === null && <p class="meta">{problem ?? "They are being read."}</p>}
      {value?.length === 0 && (
        <p>None. An approval leaves one behind where it is remembered for a session or an agent.</p>
      )}
      <ul>
        {value?.map((grant) => (
          <Grant key={grant.id} grant={grant} onRevoke={() => void revoke(grant.id)} onLeave={onClose} />
        ))}
      </ul>
      <div class="row-of-buttons">
        <LeaveButton>Close</LeaveButton>
      </div>
    </Dialog>
  );
};

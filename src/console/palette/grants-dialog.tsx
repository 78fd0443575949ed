import { useState } from "preact/hooks";
import { Dialog } from "../parts/controls.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { formatTime } from "../parts/format.ts";
import { useLoad } from "../parts/hooks.ts";
import { useApp } from "../state/app.ts";
import { describeReach } from "./reach.ts";
import type { GrantRow } from "./reach.ts";

/** The permissions that approvals have left behind, each to be taken back. */

interface GrantProps {
  readonly grant: GrantRow;
  readonly onRevoke: () => void;
}

const Grant = ({ grant, onRevoke }: GrantProps) => (
  <li class="row-of-buttons">
    <span>
      <code>{escapeInLine(`${grant.tool} ${grant.pattern}`)}</code>
      <br />
      <span class="meta">
        {describeReach(grant)}; given {formatTime(grant.at, Date.now())}
      </span>
    </span>
    <button type="button" class="button" onClick={onRevoke}>
      Take it back
    </button>
  </li>
);

export const GrantsDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const { api, report } = useApp();
  const [changes, setChanges] = useState(0);
  const { value, problem } = useLoad(`grants ${changes}`, (signal) =>
    api.read<{ readonly data: readonly GrantRow[] }>("/grants?limit=200", { signal }),
  );
  const revoke = async (id: string): Promise<void> => {
    await api.request(`/grants/${id}`, { method: "DELETE" });
    setChanges(changes + 1);
  };
  return (
    <Dialog title="Permissions that were given" onClose={onClose}>
      {value === null && <p class="meta">{problem ?? "They are being read."}</p>}
      {value?.data.length === 0 && (
        <p>None. An approval leaves one behind where it is remembered for a session or an agent.</p>
      )}
      <ul>
        {value?.data.map((grant) => (
          <Grant key={grant.id} grant={grant} onRevoke={() => report(revoke(grant.id))} />
        ))}
      </ul>
      <div class="row-of-buttons">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
};

import { Dialog, LeaveButton } from "../parts/dialog.tsx";
import { withCommand, withShift } from "../parts/key-names.ts";

/** The keys of the page. */

const rows: readonly (readonly [string, string])[] = [
  ["/", "Search sessions"],
  [withCommand("K"), "Everything one can do"],
  ["N", "New session"],
  ["J  K", "Next, previous row"],
  ["↵", "Send"],
  [withShift("↵"), "New line"],
  ["↑", "Edit the last message that waits, from an empty field"],
  [withCommand("↵"), "Approve"],
  ["E  D", "Edit, deny"],
  ["1–9", "Choose an option"],
  ["Esc", "Leave a field, go back, else stop the run"],
  ["V", "What the model saw"],
  ["[  ]", "The turn before, the turn after"],
  ["O", "Open or close the row"],
  ["G", "To the end"],
  ["?", "These keys"],
];

export const KeysDialog = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keys" onClose={onClose} class="keys">
    <dl class="facts-list">
      {rows.map(([key, words]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{words}</dd>
        </div>
      ))}
    </dl>
    <div class="row-of-buttons">
      <LeaveButton>Close</LeaveButton>
    </div>
  </Dialog>
);

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

/** Dialogs that hold the focus. */

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly class?: string;
}

/** A dialog that holds the focus. Who leaves it, by Esc, a click beside it or its button, is where they were before. */
export const Dialog = ({ title, onClose, children, class: kind }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Read before the dialog is on the page: a field in it may take the focus at once.
  const [before] = useState(() => document.activeElement);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={kind}
      aria-labelledby={id}
      onClose={() => {
        if (before instanceof HTMLElement) before.focus();
        onClose();
      }}
      onClick={({ target, currentTarget }) => target === currentTarget && currentTarget.close()}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
};

interface LeaveButtonProps {
  readonly children: ComponentChildren;
  readonly autofocus?: boolean;
}

/** Leaves the dialog that it stands in. */
export const LeaveButton = ({ children, autofocus = false }: LeaveButtonProps) => (
  <button
    type="button"
    class="button"
    autofocus={autofocus}
    onClick={({ currentTarget }) => currentTarget.closest("dialog")?.close()}
  >
    {children}
  </button>
);

interface ConfirmProps {
  readonly title: string;
  readonly text: string;
  readonly verb: string;
  readonly onDo: () => void;
  readonly onClose: () => void;
}

/** Asks once before something that cannot be undone. */
export const Confirm = ({ title, text, verb, onDo, onClose }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    <p>{text}</p>
    <div class="row-of-buttons">
      <button
        type="button"
        class="button bad"
        onClick={() => {
          onClose();
          onDo();
        }}
      >
        {verb}
      </button>
      <LeaveButton autofocus>Keep it</LeaveButton>
    </div>
  </Dialog>
);

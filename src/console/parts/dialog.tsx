import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** Dialogs that hold the focus. */

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly class?: string;
}

/** A dialog that holds the focus; Esc and a click beside it close it. */
export const Dialog = ({ title, onClose, children, class: kind }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={kind}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
};

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
      <button type="button" class="button" onClick={onClose} autofocus>
        Keep it
      </button>
    </div>
  </Dialog>
);

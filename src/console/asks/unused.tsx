import "../styles/asks.css";
import { useEffect, useRef, useState } from "preact/hooks";
import type { TranscriptAsk } from "../../client/transcript.ts";
import { CopyButton } from "../parts/controls.tsx";
import { useSession } from "../state/app.ts";
import { describeClosed } from "./closed.ts";
import { keepEdit, readEdit } from "./edits.ts";
import { rowsOf } from "./subject.ts";

/**
 * What a person had written when an ask was closed without it. It is a field, so that whoever was still typing
 * presses no key of the page.
 */
export const UnusedEdit = ({ ask }: { readonly ask: TranscriptAsk }) => {
  const { keyName } = useSession();
  const [text, setText] = useState(() => readEdit(ask.id));
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) field.current?.focus();
  }, []);
  if (text === null) return null;
  const putAway = (): void => {
    keepEdit(ask.id, null);
    setText(null);
  };
  return (
    <section class="line-body" aria-label="Your version was not used">
      <p>{describeClosed(ask, keyName, null).who}. Your version was not used:</p>
      <div class="proposal">
        <textarea
          ref={field}
          class="editor"
          aria-label="Your version"
          rows={rowsOf(text)}
          spellcheck={false}
          readOnly
          value={text}
        />
      </div>
      <div class="line-actions">
        <CopyButton text={text} label="Copy your version" words="Copy your version" />
        <button type="button" class="plain" onClick={putAway}>
          Put it away
        </button>
      </div>
    </section>
  );
};

import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../state/app.ts";
import type { SessionRow } from "./status.ts";

interface RenameProps {
  readonly row: Pick<SessionRow, "id" | "title">;
  readonly onDone: () => void;
}

/** The field for another title, in the list and in the head of the session. */
export const Rename = ({ row, onDone }: RenameProps) => {
  const { sessions, report } = useApp();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  const save = (): void => {
    const title = input.current?.value.trim() ?? "";
    onDone();
    if (title !== "" && title !== row.title) report(sessions.rename(row.id, title));
  };
  /** Whoever ends it by a key goes on where the field was. */
  const leave = (end: () => void): void => {
    const place = input.current?.closest("header, li");
    end();
    requestAnimationFrame(() => place?.querySelector<HTMLElement>("a, [aria-haspopup]")?.focus());
  };
  return (
    <input
      ref={input}
      class="field rename"
      aria-label="Title of the session"
      maxLength={256}
      defaultValue={row.title ?? ""}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.isComposing) leave(save);
        if (event.key === "Escape" && !event.isComposing) leave(onDone);
        event.stopPropagation();
      }}
    />
  );
};

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { IconButton, Menu } from "../parts/controls.tsx";
import type { MenuItem } from "../parts/controls.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { firstPlace } from "../state/drafts.ts";
import { Icon, StopIcon } from "../parts/icons.tsx";
import { explainRefused, isAttachable, isTooLarge, startsAsText } from "./attachable.ts";
import { isEmptyDraft, useDraft } from "./draft.ts";

/** The field that messages are written in: it sends, queues, steers, or answers an open question. */

export interface ComposerMode {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
}

/** A message that waited and is edited now. */
export interface RecalledMessage {
  readonly text: string;
  readonly mode: string;
  /** Resolves once it waits no more. */
  readonly taken: Promise<void>;
}

interface ComposerProps {
  /** Where the field stands: what is written in it is kept for this place. */
  readonly place: string;
  /** What the empty field says, by the way to send. */
  readonly placeholder: (mode: string) => string;
  /** The ways to send; the first one is chosen until a person chooses another. */
  readonly modes: readonly ComposerMode[];
  /** A choice among them holds as long as this stays the same. */
  readonly choiceHolds?: string;
  /** What the button does, by the way to send. */
  readonly verb: (mode: string) => string;
  /** The text goes to the one who asked: the field is blue. */
  readonly answers: boolean;
  readonly isPrimary?: boolean;
  /** What was not sent stands in the field again. */
  readonly onSend: (text: string, mode: string, files: readonly File[]) => Promise<void>;
  /** Called with the first character of a text. */
  readonly onBegin?: () => void;
  readonly onStop?: () => void;
  /** Called for the arrow up in an empty field. */
  readonly onRecall?: () => RecalledMessage | null;
  readonly children?: ComponentChildren;
  readonly tall?: boolean;
}

/** Grows with its text to two fifths of the page. */
const fit = (area: HTMLTextAreaElement): void => {
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, innerHeight * 0.4)}px`;
};

interface FilesProps {
  readonly files: readonly File[];
  readonly onRemove: (file: File) => void;
}

const Files = ({ files, onRemove }: FilesProps) =>
  files.length === 0 ? null : (
    <ul class="composer-files">
      {files.map((file, at) => (
        <li key={at}>
          <span class="cut">{escapeInLine(file.name)}</span>
          <IconButton
            name="close"
            label={`Leave ${escapeInLine(file.name)} out`}
            onClick={() => onRemove(file)}
          />
        </li>
      ))}
    </ul>
  );

const Attach = ({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) => {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
      <IconButton name="clip" label="Attach files" onClick={() => input.current?.click()} />
    </>
  );
};

const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes("Files") === true;

/** Takes files that are pasted, or dropped anywhere on the page, which would show them in its place otherwise. */
const useGivenFiles = (onFiles: (files: readonly File[]) => void): boolean => {
  const [over, setOver] = useState(false);
  const take = useRef(onFiles);
  take.current = onFiles;
  useEffect(() => {
    const drag = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = ({ relatedTarget }: DragEvent): void => void (relatedTarget === null && setOver(false));
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      take.current([...(event.dataTransfer?.files ?? [])]);
    };
    const paste = (event: ClipboardEvent): void => {
      const { clipboardData: given } = event;
      // A program that copies a text may give a picture of it, too.
      if (given === null || given.files.length === 0 || given.types.includes("text/plain")) return;
      event.preventDefault();
      take.current([...given.files]);
    };
    document.addEventListener("paste", paste);
    document.addEventListener("dragover", drag);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("paste", paste);
      document.removeEventListener("dragover", drag);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    };
  }, []);
  return over;
};

const modeItems = (
  modes: readonly ComposerMode[],
  chosen: string,
  choose: (id: string) => void,
): readonly MenuItem[] =>
  modes.map(({ id, label, hint }) => ({
    label,
    checked: id === chosen,
    run: () => choose(id),
    ...(hint === undefined ? {} : { hint }),
  }));

interface BarProps extends Pick<ComposerProps, "modes" | "answers" | "isPrimary" | "onStop" | "children"> {
  readonly verb: string;
  readonly mode: string;
  readonly isEmpty: boolean;
  readonly onMode: (id: string) => void;
  readonly onFiles: (files: readonly File[]) => void;
  readonly onSubmit: () => void;
}

const StopButton = ({ isEmpty, onStop }: { readonly isEmpty: boolean; readonly onStop: () => void }) => (
  <button type="button" class={isEmpty ? "button stop" : "plain stop"} onClick={onStop}>
    {isEmpty && <StopIcon />}
    Stop <kbd aria-hidden="true">Esc</kbd>
  </button>
);

const Bar = ({ modes, mode, isEmpty, onMode, onFiles, onSubmit, onStop, ...rest }: BarProps) => {
  const { verb, answers, isPrimary = false, children } = rest;
  return (
    <div class="composer-bar">
      {!answers && <Attach onFiles={onFiles} />}
      {modes.length > 1 && (
        <Menu label="How it is sent" opens="up" side="left" items={modeItems(modes, mode, onMode)}>
          {modes.find(({ id }) => id === mode)?.label}
        </Menu>
      )}
      {children}
      <span class="space" />
      {onStop !== undefined && <StopButton isEmpty={isEmpty} onStop={onStop} />}
      {(onStop === undefined || !isEmpty) && (
        <button
          type="button"
          class={`button send ${answers || isPrimary ? "primary" : ""}`}
          onClick={onSubmit}
        >
          {verb} <Icon name="enter" />
        </button>
      )}
    </div>
  );
};

/** Enter sends, with Shift it begins a line; a word that is still being chosen is no Enter. */
const isSubmit = (event: KeyboardEvent): boolean =>
  event.key === "Enter" && !event.shiftKey && !event.isComposing;

interface FieldProps {
  readonly text: string;
  readonly label: string;
  readonly placeholder: string;
  readonly onText: (text: string) => void;
  readonly onSubmit: () => void;
  readonly onRecall: () => boolean;
  readonly onLeave: () => boolean;
}

const Field = ({ text, label, placeholder, onText, onSubmit, onRecall, onLeave }: FieldProps) => {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (area.current !== null) fit(area.current);
  }, [text]);
  const press = (event: KeyboardEvent): void => {
    if (isSubmit(event)) {
      // With a command key and nothing written, the key is that of an approval.
      if ((event.metaKey || event.ctrlKey) && text.trim() === "") return;
      event.preventDefault();
      onSubmit();
    } else if (event.key === "ArrowUp" && text === "" ? onRecall() : event.key === "Escape" && onLeave())
      event.preventDefault();
  };
  return (
    <textarea
      ref={area}
      id="composer"
      rows={1}
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
      onKeyDown={press}
    />
  );
};

const classOf = (looks: Readonly<Record<string, boolean>>): string =>
  ["composer", ...Object.keys(looks).filter((look) => looks[look])].join(" ");

/** The way to send that a person chose, while the situation is the one it was chosen in. */
const useMode = (modes: readonly ComposerMode[], situation: string) => {
  const [choice, setChoice] = useState({ situation, mode: "" });
  const wanted = choice.situation === situation ? choice.mode : "";
  return {
    mode: modes.find(({ id }) => id === wanted)?.id ?? modes[0]?.id ?? "",
    setMode: (mode: string): void => setChoice({ situation, mode }),
  };
};

/** Browsers call source code and logs by many types, or by none: any text goes as plain text. */
const asAttachable = async (file: File): Promise<File | null> => {
  if (isTooLarge(file)) return null;
  if (isAttachable(file)) return file;
  // A folder, or a file that is gone, cannot be read.
  const start = await file
    .slice(0, 8_192)
    .arrayBuffer()
    .catch(() => null);
  return start !== null && startsAsText(new Uint8Array(start))
    ? new File([file], file.name, { type: "text/plain" })
    : null;
};

/** Says which files were left out, until others are attached or the message is sent. */
const useAttachments = (place: string, attach: (files: readonly File[]) => void) => {
  const [refusal, setRefusal] = useState("");
  const sort = async (files: readonly File[]): Promise<void> => {
    const taken = await Promise.all(files.map(asAttachable));
    const refused = files.filter((_, at) => taken[at] === null);
    setRefusal(explainRefused(refused, place !== firstPlace));
    if (refused.length < files.length) attach(taken.filter((file) => file !== null));
  };
  return {
    refusal,
    forget: (): void => setRefusal(""),
    take: (files: readonly File[]): void => void sort(files),
  };
};

const Refusal = ({ text }: { readonly text: string }) =>
  text === "" ? null : (
    <p class="composer-refusal" role="alert">
      {escapeInLine(text)}
    </p>
  );

/** Takes the newest message that waits into the field; who leaves it without sending has it wait again, as it was. */
const useRecall = (
  { draft, setText, send }: ReturnType<typeof useDraft>,
  onRecall: ComposerProps["onRecall"],
  onSend: ComposerProps["onSend"],
  setMode: (mode: string) => void,
) => {
  const edited = useRef<RecalledMessage | null>(null);
  return {
    forget: (): void => {
      edited.current = null;
    },
    recall: (): boolean => {
      const recalled = onRecall?.() ?? null;
      if (recalled === null) return false;
      edited.current = recalled;
      setText(recalled.text);
      setMode(recalled.mode);
      return true;
    },
    leave: (): boolean => {
      if (edited.current === null) return false;
      const { text, mode, taken } = edited.current;
      edited.current = null;
      send(
        taken.then(() => onSend(text, mode, [])),
        { text: draft.text, files: [] },
      );
      return true;
    },
  };
};

export const Composer = ({
  place,
  modes,
  choiceHolds = "",
  onSend,
  onBegin,
  answers,
  placeholder,
  verb,
  ...rest
}: ComposerProps) => {
  const field = useDraft(place);
  const { draft, setText, attach, detach, send } = field;
  const { mode, setMode } = useMode(modes, choiceHolds);
  const { refusal, forget, take } = useAttachments(place, attach);
  const edit = useRecall(field, rest.onRecall, onSend, setMode);
  const isAnswer = answers && mode === "answer";
  const submit = (): void => {
    if (!isEmptyDraft(draft)) {
      send(onSend(draft.text, mode, draft.files));
      forget();
      edit.forget();
    }
    document.getElementById("composer")?.focus();
  };
  const isOver = useGivenFiles(take);
  return (
    <div class={classOf({ answers: isAnswer, tall: rest.tall === true, "takes-drop": isOver })}>
      {isAnswer && draft.text !== "" && <span class="composer-tag">Your answer</span>}
      <Field
        text={draft.text}
        label={isAnswer ? "Your answer" : "Message"}
        placeholder={placeholder(mode)}
        onText={(text) => {
          if (draft.text === "") onBegin?.();
          setText(text);
        }}
        onSubmit={submit}
        onRecall={edit.recall}
        onLeave={edit.leave}
      />
      <Files files={draft.files} onRemove={detach} />
      <Refusal text={refusal} />
      <Bar
        {...rest}
        modes={modes}
        mode={mode}
        verb={verb(mode)}
        answers={isAnswer}
        isEmpty={isEmptyDraft(draft)}
        onMode={setMode}
        onFiles={take}
        onSubmit={submit}
      />
    </div>
  );
};

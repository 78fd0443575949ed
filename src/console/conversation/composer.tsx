import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Menu } from "../parts/controls.tsx";
import type { MenuItem } from "../parts/controls.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { askBeforeLeaving } from "../parts/hooks.ts";
import { Icon, StopIcon } from "../parts/icons.tsx";
import { explainRefused, isAttachable, startsAsText } from "./attachable.ts";
import { keepDraftFiles, keepDraftText, readDraftFiles, readDraftText } from "../state/drafts.ts";

/** The field that messages are written in: it sends, queues, steers, or answers an open question. */

export interface ComposerMode {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
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
  readonly verb: string;
  /** The text goes to the one who asked: the field is blue. */
  readonly answers: boolean;
  readonly isPrimary?: boolean;
  /** What was not sent stands in the field again. */
  readonly onSend: (text: string, mode: string, files: readonly File[]) => Promise<void>;
  /** Called with the first character of a text. */
  readonly onBegin?: () => void;
  readonly onStop?: () => void;
  /** Called for the arrow up in an empty field. */
  readonly onRecall?: () => string | null;
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
      {files.map((file) => (
        <li key={file.name}>
          <span class="cut">{escapeInLine(file.name)}</span>
          <button
            type="button"
            class="icon"
            aria-label={`Leave ${escapeInLine(file.name)} out`}
            onClick={() => onRemove(file)}
          >
            <Icon name="close" />
          </button>
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
      <button
        type="button"
        class="icon"
        aria-label="Attach files"
        title="Attach files"
        onClick={() => input.current?.click()}
      >
        <Icon name="clip" />
      </button>
    </>
  );
};

const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes("Files") === true;

/** Takes files that are dropped anywhere on the page, which would show them in its place otherwise. */
const useDroppedFiles = (onFiles: (files: readonly File[]) => void): boolean => {
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
    document.addEventListener("dragover", drag);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
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

interface BarProps extends Pick<
  ComposerProps,
  "modes" | "verb" | "answers" | "isPrimary" | "onStop" | "children"
> {
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

interface DraftState {
  readonly text: string;
  readonly files: readonly File[];
}

const noFiles: readonly File[] = [];

const empty: DraftState = { text: "", files: noFiles };

const isEmptyDraft = ({ text, files }: DraftState): boolean => text.trim() === "" && files.length === 0;

interface FieldProps {
  readonly text: string;
  readonly label: string;
  readonly placeholder: string;
  readonly onText: (text: string) => void;
  readonly onSubmit: () => void;
  readonly onRecall: (() => string | null) | undefined;
}

const Field = ({ text, label, placeholder, onText, onSubmit, onRecall }: FieldProps) => {
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
    } else if (event.key === "ArrowUp" && text === "") {
      const recalled = onRecall?.() ?? null;
      if (recalled === null) return;
      event.preventDefault();
      onText(recalled);
    }
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

/** Keeps the files of a draft over a reload; where they cannot be kept, the browser asks before the page is left. */
const useKeptFiles = (place: string, files: readonly File[], restore: (kept: readonly File[]) => void) => {
  const [isRead, setRead] = useState(false);
  const [isKept, setKept] = useState(true);
  const sending = useRef(noFiles);
  const current = useRef(files);
  current.current = files;
  const keep = async (): Promise<void> =>
    setKept(await keepDraftFiles(place, [...sending.current, ...current.current]));
  useEffect(() => {
    const read = async (): Promise<void> => {
      restore(await readDraftFiles(place));
      setRead(true);
    };
    void read();
  }, []);
  useEffect(() => {
    if (isRead) void keep();
  }, [files, isRead]);
  const isAtRisk = !isKept && files.length > 0;
  useEffect(() => (isAtRisk ? askBeforeLeaving() : undefined), [isAtRisk]);
  /** Files on their way are kept until they are there, or stand in the field again. */
  return async (sent: readonly File[], work: Promise<void>): Promise<void> => {
    const stopAsking = sent.length > 0 ? askBeforeLeaving() : () => undefined;
    sending.current = sent;
    await work;
    stopAsking();
    sending.current = noFiles;
    await keep();
  };
};

/** What is written and attached; what could not be sent stands in it again. */
const useDraft = (place: string) => {
  const [draft, setDraft] = useState((): DraftState => ({ text: readDraftText(place), files: noFiles }));
  useEffect(() => keepDraftText(place, draft.text), [draft.text]);
  const keepWhile = useKeptFiles(place, draft.files, (kept) => {
    if (kept.length > 0) setDraft(({ text, files }) => ({ text, files: [...kept, ...files] }));
  });
  const putBack = (lost: DraftState): void =>
    setDraft(({ text, files }) => ({
      text: [lost.text, text].filter((each) => each !== "").join("\n"),
      files: [...lost.files, ...files],
    }));
  return {
    draft,
    setDraft,
    attach: (more: readonly File[]): void =>
      setDraft(({ text, files }) => ({ text, files: [...files, ...more] })),
    /** Empties the field, until what was in it turns out not to be sent. */
    send: (work: Promise<void>): void => {
      void keepWhile(
        draft.files,
        work.catch(() => putBack(draft)),
      );
      setDraft(empty);
    },
  };
};

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
  if (isAttachable(file)) return file;
  const start = new Uint8Array(await file.slice(0, 8_192).arrayBuffer());
  return startsAsText(start) ? new File([file], file.name, { type: "text/plain" }) : null;
};

/** Says which files were left out, until others are attached or the message is sent. */
const useAttachments = (place: string, attach: (files: readonly File[]) => void) => {
  const [refusal, setRefusal] = useState("");
  const sort = async (files: readonly File[]): Promise<void> => {
    const taken = await Promise.all(files.map(asAttachable));
    const refused = files.filter((_, at) => taken[at] === null);
    setRefusal(explainRefused(refused, place !== "new"));
    if (refused.length < files.length) attach(taken.filter((file) => file !== null));
  };
  return {
    refusal,
    forget: (): void => setRefusal(""),
    take: (files: readonly File[]): void => void sort(files),
  };
};

export const Composer = ({
  place,
  modes,
  choiceHolds = "",
  onSend,
  onBegin,
  onRecall,
  answers,
  placeholder,
  tall = false,
  ...rest
}: ComposerProps) => {
  const { draft, setDraft, attach, send } = useDraft(place);
  const { mode, setMode } = useMode(modes, choiceHolds);
  const { refusal, forget, take } = useAttachments(place, attach);
  const isAnswer = answers && mode === "answer";
  const submit = (): void => {
    if (!isEmptyDraft(draft)) {
      send(onSend(draft.text, mode, draft.files));
      forget();
    }
    document.getElementById("composer")?.focus();
  };
  const isOver = useDroppedFiles(take);
  return (
    <div class={classOf({ answers: isAnswer, tall, "takes-drop": isOver })}>
      {isAnswer && draft.text !== "" && <span class="composer-tag">Your answer</span>}
      <Field
        text={draft.text}
        label={isAnswer ? "Your answer" : "Message"}
        placeholder={placeholder(mode)}
        onText={(text) => {
          if (draft.text === "") onBegin?.();
          setDraft({ ...draft, text });
        }}
        onSubmit={submit}
        onRecall={onRecall}
      />
      <Files
        files={draft.files}
        onRemove={(gone) => setDraft({ ...draft, files: draft.files.filter((file) => file !== gone) })}
      />
      {refusal !== "" && (
        <p class="composer-refusal" role="alert">
          {escapeInLine(refusal)}
        </p>
      )}
      <Bar
        {...rest}
        modes={modes}
        mode={mode}
        answers={isAnswer}
        isEmpty={isEmptyDraft(draft)}
        onMode={setMode}
        onFiles={take}
        onSubmit={submit}
      />
    </div>
  );
};

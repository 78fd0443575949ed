import "../styles/asks.css";
import { Loading } from "./controls.tsx";
import { Dialog, LeaveButton } from "./dialog.tsx";
import { escapeInLine, escapeInLines } from "./escape.ts";
import { formatBytes } from "./format.ts";
import { useLoad } from "./load.ts";
import { Icon } from "./icons.tsx";
import { saveBytes } from "./save.ts";

/** A file: an image or a text is shown, and all of them can be downloaded. */

interface Content {
  readonly bytes: Blob;
  /** An address that holds the bytes themselves: the page shows images from nowhere else. */
  readonly image: string | null;
  readonly text: string | null;
}

/** A text with more bytes is only downloaded. */
const mostShown = 2 ** 20;

const imageTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

/** Says by its name what kind of image a file is; undefined if it is none. */
export const imageTypeOf = (name: string): string | undefined =>
  imageTypes[name.split(".").at(-1)?.toLowerCase() ?? ""];

const readAsAddress = async (bytes: Blob): Promise<string> => {
  const reader = new FileReader();
  await new Promise((resolve, reject) => {
    reader.addEventListener("load", resolve);
    reader.addEventListener("error", () => reject(new Error("The image cannot be read.")));
    reader.readAsDataURL(bytes);
  });
  return typeof reader.result === "string" ? reader.result : "";
};

/** Returns the bytes as a text; null if they are none in UTF-8. */
const readAsText = (bytes: ArrayBuffer): string | null => {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
};

const readContent = async (answer: Response, imageType: string | undefined): Promise<Content> => {
  const read = await answer.arrayBuffer();
  const bytes = new Blob([read], { type: imageType ?? "" });
  if (imageType !== undefined) return { bytes, image: await readAsAddress(bytes), text: null };
  return { bytes, image: null, text: read.byteLength > mostShown ? null : readAsText(read) };
};

const Shown = ({ content, name }: { readonly content: Content; readonly name: string }) => {
  const { image, text, bytes } = content;
  if (image !== null) return <img src={image} alt={name} />;
  if (text === null)
    return (
      <p>{bytes.size > mostShown ? "It is too large to be shown here." : "It is no text and no image."}</p>
    );
  return (
    <pre class="sheet" tabIndex={0}>
      {escapeInLines(text)}
    </pre>
  );
};

interface FileDialogProps {
  /** It tells this file from all others. */
  readonly id: string;
  readonly name: string;
  /** The media type of an image; undefined for other files. */
  readonly imageType: string | undefined;
  readonly read: (signal: AbortSignal) => Promise<Response>;
  readonly onClose: () => void;
}

export const FileDialog = ({ id, name, imageType, read, onClose }: FileDialogProps) => {
  const { state, value, problem } = useLoad(id, async (signal) => readContent(await read(signal), imageType));
  return (
    <Dialog title={escapeInLine(name)} class="attached" onClose={onClose}>
      {state === "loading" && <Loading />}
      {problem !== null && <p class="bad">{problem}</p>}
      {value !== null && <Shown content={value} name={escapeInLine(name)} />}
      <div class="row-of-buttons">
        {value !== null && (
          <button type="button" class="button" onClick={() => saveBytes(value.bytes, name)}>
            <Icon name="download" />
            Download, {formatBytes(value.bytes.size)}
          </button>
        )}
        <LeaveButton>Close</LeaveButton>
      </div>
    </Dialog>
  );
};

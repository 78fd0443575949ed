import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { CopyButton } from "./controls.tsx";
import { memo } from "./hooks.ts";
import { readBlocks } from "./markdown-blocks.ts";
import type { MarkdownBlock, ListItem } from "./markdown-blocks.ts";
import { readInlines } from "./markdown-inlines.ts";
import type { Inline } from "./markdown-inlines.ts";

/** Markdown as elements that we build: foreign text only ever becomes a text node. */

const safeProtocols = new Set(["http:", "https:"]);

/** Says whether an address may be followed: not of another scheme, and not one of this page. */
const isSafe = (href: string): boolean =>
  /^[a-z][a-z0-9+.-]*:/i.test(href) && URL.canParse(href) && safeProtocols.has(new URL(href).protocol);

const ExternalLink = ({ href, children }: { readonly href: string; readonly children: ComponentChildren }) =>
  isSafe(href) ? (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ) : (
    <span>{children}</span>
  );

const showInline = (inline: Inline): ComponentChildren => {
  switch (inline.kind) {
    case "text":
      return inline.text;
    case "code":
      return <code>{inline.text}</code>;
    case "break":
      return <br />;
    case "strong":
      return <strong>{inline.inner.map(showInline)}</strong>;
    case "em":
      return <em>{inline.inner.map(showInline)}</em>;
    case "del":
      return <del>{inline.inner.map(showInline)}</del>;
    case "link":
      return <ExternalLink href={inline.href}>{inline.inner.map(showInline)}</ExternalLink>;
  }
};

const Text = ({ text, breaks }: { readonly text: string; readonly breaks: boolean }) => (
  <>{readInlines(text, breaks).map(showInline)}</>
);

/** A block of code with its copy button. */
const CodeBlock = ({ text, language }: { readonly text: string; readonly language: string }) => (
  <figure class="code">
    <figcaption>
      <span class="meta">{language}</span>
      <CopyButton text={text} label="Copy code" />
    </figcaption>
    <pre tabIndex={0} aria-label={language === "" ? "Code" : `Code, ${language}`} role="group">
      <code>{text}</code>
    </pre>
  </figure>
);

/** A paragraph alone in an item needs no element of its own. */
const Item = ({ item, breaks }: { readonly item: ListItem; readonly breaks: boolean }) => {
  const [first, ...rest] = item.blocks;
  return (
    <li>
      {item.done !== null && <span aria-label={item.done ? "done" : "open"}>{item.done ? "☑ " : "☐ "}</span>}
      {first?.kind === "paragraph" ? (
        <Text text={first.text} breaks={breaks} />
      ) : (
        first !== undefined && <BlockView block={first} breaks={breaks} />
      )}
      {rest.map((block, at) => (
        <BlockView key={at} block={block} breaks={breaks} />
      ))}
    </li>
  );
};

const List = ({
  block,
  breaks,
}: {
  readonly block: Extract<MarkdownBlock, { kind: "list" }>;
  readonly breaks: boolean;
}) => {
  const items = block.items.map((item, at) => <Item key={at} item={item} breaks={breaks} />);
  return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
};

const Table = ({ block }: { readonly block: Extract<MarkdownBlock, { kind: "table" }> }) => (
  <div class="table" tabIndex={0} role="group" aria-label="Table">
    <table>
      <thead>
        <tr>
          {block.head.map((cell, at) => (
            <th key={at}>
              <Text text={cell} breaks={false} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {block.rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, place) => (
              <td key={place}>
                <Text text={cell} breaks={false} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** A block is made again only when it is another one, so that a stream changes its last block alone. */
const BlockView = memo<{ readonly block: MarkdownBlock; readonly breaks: boolean }>(({ block, breaks }) => {
  switch (block.kind) {
    case "paragraph":
      return (
        <p>
          <Text text={block.text} breaks={breaks} />
        </p>
      );
    case "heading":
      return (
        <p class={`heading level-${Math.min(3, block.level)}`} role="heading" aria-level={2}>
          <Text text={block.text} breaks={false} />
        </p>
      );
    case "code":
      return <CodeBlock text={block.text} language={block.language} />;
    case "quote":
      return (
        <blockquote>
          {block.blocks.map((inner, at) => (
            <BlockView key={at} block={inner} breaks={breaks} />
          ))}
        </blockquote>
      );
    case "list":
      return <List block={block} breaks={breaks} />;
    case "table":
      return <Table block={block} />;
    case "rule":
      return <hr />;
  }
});

interface MarkdownProps {
  readonly text: string;
  /** More of it is coming. */
  readonly open?: boolean;
  /** Every line break of the text is one. */
  readonly breaks?: boolean;
}

export const Markdown = memo<MarkdownProps>(({ text, open = false, breaks = false }) => {
  const kept = useRef<readonly MarkdownBlock[]>([]);
  kept.current = readBlocks(text).map((block, at) => {
    const before = kept.current[at];
    return before?.raw === block.raw && before.kind === block.kind ? before : block;
  });
  return (
    <div class="prose">
      {kept.current.map((block, at) => (
        <BlockView key={at} block={block} breaks={breaks} />
      ))}
      {open && <span class="caret" />}
    </div>
  );
});

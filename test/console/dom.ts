/** As much of a document as the page's program touches. Markup can only come into it through `textContent`. */

type Listener = (event: Record<string, unknown>) => void;

export class FakeElement {
  readonly tag: string;
  id = "";
  className = "";
  value = "";
  placeholder = "";
  disabled = false;
  open = false;
  scrollTop = 0;
  readonly scrollHeight = 0;
  readonly clientHeight = 0;
  readonly dataset: Record<string, string> = {};
  parent: FakeElement | null = null;
  children: (FakeElement | string)[] = [];
  readonly #listeners = new Map<string, Listener[]>();
  readonly classList = {
    toggle: (name: string, on: boolean): void => {
      const names = this.className.split(" ").filter((each) => each !== name && each !== "");
      this.className = [...names, ...(on ? [name] : [])].join(" ");
    },
  };

  constructor(tag: string) {
    this.tag = tag;
  }
  get textContent(): string {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  }
  set textContent(text: string) {
    this.children = text === "" ? [] : [text];
  }
  append(...added: (FakeElement | string)[]): void {
    for (const child of added) if (typeof child !== "string") child.parent = this;
    this.children.push(...added);
  }
  replaceChildren(...added: FakeElement[]): void {
    this.children = [];
    this.append(...added);
  }
  remove(): void {
    if (this.parent !== null) this.parent.children = this.parent.children.filter((child) => child !== this);
  }
  get elements(): FakeElement[] {
    const own = this.children.filter((child) => typeof child !== "string");
    return own.flatMap((child) => [child, ...child.elements]);
  }
  querySelector(tag: string): FakeElement | null {
    return this.elements.find((child) => child.tag === tag) ?? null;
  }
  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }
  fire(type: string, event: Record<string, unknown> = {}): void {
    for (const listener of this.#listeners.get(type) ?? [])
      listener({ preventDefault: () => undefined, ...event });
  }
  /** Presses the button with this text below the element. */
  press(text: string): void {
    this.elements.find(({ tag, textContent }) => tag === "button" && textContent === text)?.fire("click");
  }
}

/** A document with the elements of a page's markup that have an id. */
export function fakeDocument(page: string) {
  const root = new FakeElement("body");
  for (const [, tag = "", id = ""] of page.matchAll(/<(\w+)[^>]*?\sid="(\w+)"/g)) {
    const made = new FakeElement(tag);
    made.id = id;
    root.append(made);
  }
  const find = (id: string): FakeElement | null => root.elements.find((each) => each.id === id) ?? null;
  return {
    get: (id: string): FakeElement => find(id) ?? new FakeElement("none"),
    document: { getElementById: find, createElement: (tag: string) => new FakeElement(tag) },
  };
}

/** A browser's WebSocket whose server is the test. */
export class FakeSocket {
  static readonly OPEN = 1;
  static readonly made: FakeSocket[] = [];
  readonly address: string;
  readonly protocols: readonly string[];
  readonly sent: Record<string, unknown>[] = [];
  readyState = 0;
  readonly #target = new FakeElement("socket");

  constructor(address: URL, protocols: readonly string[]) {
    this.address = String(address);
    this.protocols = protocols;
    FakeSocket.made.push(this);
  }
  addEventListener(type: string, listener: Listener): void {
    this.#target.addEventListener(type, listener);
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.end(1005);
  }
  open(): void {
    this.readyState = 1;
    this.#target.fire("open");
  }
  end(code: number): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.#target.fire("close", { code });
  }
  say(...frames: object[]): void {
    this.#target.fire("message", { data: JSON.stringify(frames.length === 1 ? frames[0] : frames) });
  }
}

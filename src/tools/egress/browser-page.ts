/** Page that a session's browser shows, as stored between calls, when there is no connection to it. */
export interface BrowserPage {
  /** Id of the browser at the platform. */
  readonly browser: string;
  /** Id of the page at the browser. */
  readonly target: string;
  /** Address of the page. */
  readonly url: string;
}

/** Page of a session as tools see it. */
export interface SessionPage {
  /** Returns the stored page; null if none is open. */
  readonly get: () => BrowserPage | null;
  readonly set: (page: BrowserPage | null) => void;
  /** Does one piece of work at a time on the page, whichever thread of the session requests it. */
  readonly lock: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Browsers of the platform that a deployment binds, and the address of searches. */
export interface BrowserReach {
  /** Sends a request to the platform's browsers. */
  readonly request: (path: string, init?: RequestInit) => Promise<Response>;
  /** Address of the search page, with `{query}`; null if the team names none. */
  readonly searchUrl: string | null;
}

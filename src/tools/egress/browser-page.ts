/** The page that a session's browser shows, as it is stored between calls: nothing holds a connection to it. */
export interface BrowserPage {
  /** The platform knows the browser by this id. */
  readonly browser: string;
  /** The browser knows the page by this id. */
  readonly target: string;
  /** The address that it shows. */
  readonly url: string;
}

/** The page of a session as tools see it. */
export interface SessionPage {
  /** The stored page; null if none is open. */
  readonly get: () => BrowserPage | null;
  readonly set: (page: BrowserPage | null) => void;
  /** Does one work at a time on it, whatever thread of the session asks. */
  readonly lock: <T>(work: () => Promise<T>) => Promise<T>;
}

/** The browsers of the platform that a deployment binds, and where searches go. */
export interface BrowserReach {
  /** Sends a request to the platform's browsers. */
  readonly request: (path: string, init?: RequestInit) => Promise<Response>;
  /** The address of the search page, with `{query}`; null if the team names none. */
  readonly searchUrl: string | null;
}

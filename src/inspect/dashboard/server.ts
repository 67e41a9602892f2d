/**
 * The dashboard's HTTP server, on the loopback address alone: the page, its state as server-sent events, programs and
 * timelines when the page asks. Neither the server nor a connection keeps the process alive. Called by
 * `api/dashboard.ts`.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ArgumentError, expected } from '../../host/errors.js';
import { isLocal, pathAfterToken, SECURITY_HEADERS } from './guard.js';
import type { Ledger } from './ledger.js';
import { pageProgram } from './program-page.js';
import { Recordings } from './recordings.js';
import { Snapshots } from './snapshot.js';
import { EventStream, MOST_PAGES } from './stream.js';

const ADDRESS = '127.0.0.1';
const TOKEN_BYTES = 18;
const MOST_CONNECTIONS = 64;

/** The files of the page that are served, by their endings. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A server that listens. */
export interface DashboardServer {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
}

const text = (status: number, body: string): Reply => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${body}\n`,
});
const json = (value: unknown): Reply => ({
  status: 200,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(value),
});

function send(response: ServerResponse, method: string, { status, type, body }: Reply): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(method === 'HEAD' ? undefined : body);
}

class Pages {
  readonly #files: ReadonlyMap<string, Reply>;
  readonly #ledger: Ledger;
  readonly #token: string;
  readonly recordings: Recordings;
  readonly events: EventStream;

  constructor(ledger: Ledger, token: string, files: ReadonlyMap<string, Reply>) {
    const begin = performance.now();
    this.#ledger = ledger;
    this.#token = token;
    this.#files = files;
    this.recordings = new Recordings(begin);
    this.events = new EventStream(ledger, new Snapshots(ledger, begin), this.recordings);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    const { method = 'GET', url = '/' } = request;
    const isOwn = isLocal(request);
    const path = isOwn ? pathAfterToken(url, this.#token) : undefined;
    const isStream = path === '/events' && method === 'GET' && this.events.pages < MOST_PAGES;
    if (path === '') response.setHeader('location', `/${this.#token}/`);
    if (isStream) this.events.add(response);
    else send(response, method, isOwn ? this.#reply(method, path) : OTHER_HOST);
  }

  #reply(method: string, path: string | undefined): Reply {
    if (path === undefined) return WRONG_TOKEN;
    if (path === '') return text(308, 'The page is at the same address with a slash at its end.');
    if (path === '/record') {
      if (method !== 'POST') return text(405, 'expected POST');
      return json({ recording: this.recordings.record() });
    }
    if (method !== 'GET' && method !== 'HEAD') return text(405, 'expected GET');
    if (path === '/events') return text(503, `expected at most ${MOST_PAGES} pages at a time`);
    if (path === '/timeline') return json(this.recordings.last ?? null);
    const [, id] = /^\/program\/(\d{1,12})$/.exec(path) ?? [];
    const program = id === undefined ? undefined : this.#ledger.programOf(Number(id));
    if (program !== undefined) return json(pageProgram(program));
    return this.#files.get(path) ?? text(404, 'nothing of that name');
  }
}

const OTHER_HOST = text(
  403,
  'The dashboard answers this machine alone: 127.0.0.1 or localhost. From elsewhere, forward its port: ssh -L',
);
const WRONG_TOKEN = text(
  403,
  "This address lacks the dashboard's token: open the whole address that the program printed.",
);

/** The page's files by path: that of the page itself is `/`. */
async function pageFiles(): Promise<ReadonlyMap<string, Reply>> {
  const folder = fileURLToPath(new URL('./page/', import.meta.url));
  const names = (await readdir(folder, { recursive: true })).filter((name) => extname(name) in TYPES);
  const files = await Promise.all(
    names.map(async (name): Promise<[string, Reply]> => {
      const reply = { status: 200, type: TYPES[extname(name)]!, body: await readFile(join(folder, name)) };
      return [name === 'index.html' ? '/' : `/${name.replaceAll('\\', '/')}`, reply];
    }),
  );
  return new Map(files);
}

/**
 * Begins to serve what a ledger has. Rejects with an ArgumentError where the port is in use or may not be opened.
 */
export async function serve(ledger: Ledger, port: number): Promise<DashboardServer> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const pages = new Pages(ledger, token, await pageFiles());
  const server = createServer((request, response) => pages.handle(request, response));
  server.maxConnections = MOST_CONNECTIONS;
  server.on('connection', (socket) => socket.unref());
  server.unref();
  await listening(server, port);
  const { port: own } = server.address() as AddressInfo;
  const ending = (): void => pages.events.end();
  process.once('exit', ending);
  return {
    port: own,
    url: `http://${ADDRESS}:${own}/${token}/`,
    close: () => {
      process.off('exit', ending);
      ending();
      ledger.onBegin = undefined;
      void pages.recordings.stop();
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        // Pages have the end when their buffers are written.
        setTimeout(() => server.closeAllConnections(), 100).unref();
      });
    },
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program uses it' : error.message;
      const message = expected('dashboard', 'a port that is free', `${port}: ${why}`, 'port 0 takes any');
      reject(new ArgumentError(message, { cause: error }));
    });
    server.listen({ port, host: ADDRESS, exclusive: true }, () => {
      // A connection that cannot be accepted is the browser's to open again.
      server.on('error', () => undefined);
      resolve();
    });
  });
}

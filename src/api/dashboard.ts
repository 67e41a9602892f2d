/**
 * `dashboard()`: a page in the browser with what this process computes. Watching is `exec/run/watch.ts`, the page and its
 * server `inspect/dashboard`. With `WEFT_DASHBOARD` it begins with the first compute.
 */
import { isMainThread } from 'node:worker_threads';
import { beforeFirst, watch } from '../exec/run/watch.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { formatValue } from '../graph/format.js';
import { config, MOST_PORT } from '../host/config.js';
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import { calledAsync } from '../host/site.js';
import { Ledger } from '../inspect/dashboard/ledger.js';
import type { DashboardServer } from '../inspect/dashboard/server.js';

/** Options of `dashboard`. */
export interface DashboardOptions {
  /** The port that it listens on; any that is free without it, or with 0. */
  readonly port?: number | undefined;
}

/** A dashboard that is open. */
export interface Dashboard extends AsyncDisposable {
  /** The address of its page, with the token without which it answers nobody. */
  readonly url: string;
  readonly port: number;
  /** Ends it, and the watching: pages that are open say so. */
  close(): Promise<void>;
}

let open: Promise<Dashboard> | undefined;

/**
 * Opens a page with what this thread computes, and gives its address: the progress and the time left of each compute and
 * batch, devices with the memory that is held, rates of kernels and copies, a timeline of the last ones, the plan of each
 * with its kernels and their source, caches. The page is live, on 127.0.0.1 alone, and loads nothing from elsewhere. It
 * keeps no process alive: it ends with the program.
 *
 * One at a time in a process: a second call gives the one that is open. Without a page that is open, a compute pays
 * less than a microsecond; with one, short recordings are made of at most a hundredth of the time. Computes of other
 * threads (workers) count in rates and memory alone.
 *
 * Rejects with an ArgumentError for a port that another program uses or that may not be opened, and where one is open
 * on another port; with a RangeArgumentError for what is no port.
 *
 * @example
 * const page = await dashboard()
 * page.url.startsWith(`http://127.0.0.1:${page.port}/`)
 * //=> true
 * await page.close()
 */
export function dashboard(options?: DashboardOptions): Promise<Dashboard>;
export async function dashboard(
  options: DashboardOptions = {},
  ...more: readonly unknown[]
): Promise<Dashboard> {
  return await calledAsync(dashboard, async () => {
    refuseMore('dashboard', 1, [options, ...more]);
    checkOptions('dashboard', options, ['port']);
    const { port = 0 } = options;
    if (!Number.isInteger(port) || port < 0 || port > MOST_PORT)
      throw new RangeArgumentError(
        expected('dashboard', `port as an integer from 0 to ${MOST_PORT}`, formatValue(port)),
      );
    const there = await open;
    if (there === undefined) return await begin(port);
    if (port === 0 || port === there.port) return there;
    throw new ArgumentError(
      expected('dashboard', 'the port of the one that is open', `${port}: ${there.url}`),
    );
  });
}

/** Watches from now on, and serves the page. */
function begin(port: number): Promise<Dashboard> {
  const ledger = new Ledger();
  watch(ledger);
  const opening = serve(ledger, port, () => {
    if (open !== opening) return;
    open = undefined;
    watch(undefined);
  });
  open = opening;
  return opening;
}

/** `ended`: called where it does not begin, and when it is closed. */
async function serve(ledger: Ledger, port: number, ended: () => void): Promise<Dashboard> {
  // HTTP is loaded by those who want it.
  const { serve: listen } = await import('../inspect/dashboard/server.js');
  const server: DashboardServer = await listen(ledger, port).catch((error: unknown) => {
    ended();
    throw error;
  });
  const close = async (): Promise<void> => {
    ended();
    await server.close();
  };
  return { url: server.url, port: server.port, close, [Symbol.asyncDispose]: close };
}

/** Workers have the environment of their process, whose port the main thread has. */
function beginBySetting(): void {
  const { dashboard: port } = config();
  if (port === undefined || !isMainThread || open !== undefined) return;
  begin(port).then(
    ({ url }) => process.stderr.write(`weft: dashboard at ${url}\n`),
    (error: Error) => process.emitWarning(`${error.message}; WEFT_DASHBOARD is passed over`, 'WeftWarning'),
  );
}

beforeFirst(beginBySetting);

/**
 * Server-sent events: the state of the process, twice a second while something runs, to every page that is open. Without
 * a page there is no timer. Called by `server.ts`.
 */
import type { ServerResponse } from 'node:http';
import type { Ledger } from './ledger.js';
import type { Recordings } from './recordings.js';
import type { Snapshots } from './snapshot.js';

const PERIOD_MS = 500;
/** Where nothing runs and nothing changed, every so many periods. */
const QUIET_PERIODS = 10;
/** A page that reads nothing for so many periods is left. */
const PATIENCE_PERIODS = 120;
export const MOST_PAGES = 16;

interface Page {
  readonly response: ServerResponse;
  /** Periods in which it had not read what it was sent before. */
  behind: number;
}

export class EventStream {
  readonly #ledger: Ledger;
  readonly #snapshots: Snapshots;
  readonly #recordings: Recordings;
  readonly #pages = new Set<Page>();
  #timer: NodeJS.Timeout | undefined;
  #sentChanges = -1;
  #sentTimeline = 0;
  #sentRecording = false;
  #quiet = 0;

  constructor(ledger: Ledger, snapshots: Snapshots, recordings: Recordings) {
    this.#ledger = ledger;
    this.#snapshots = snapshots;
    this.#recordings = recordings;
    // A compute may be over before the next period.
    ledger.onBegin = (now) => {
      if (this.#pages.size > 0) recordings.offer(now);
    };
  }

  get pages(): number {
    return this.#pages.size;
  }

  /** Sends states to a page from now on, until it goes away. */
  add(response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    const page = { response, behind: 0 };
    this.#pages.add(page);
    const leave = (): void => {
      this.#pages.delete(page);
      if (this.#pages.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
    response.on('close', leave);
    response.on('error', leave);
    response.write(`retry: 2000\n\n${this.#event()}`);
    this.#timer ??= setInterval(() => this.#tick(), PERIOD_MS).unref();
  }

  /** The last state, and that there is no other: the program ends. */
  end(): void {
    const last = `${this.#event()}event: end\ndata: {}\n\n`;
    for (const { response } of this.#pages) response.end(last);
  }

  #event(): string {
    const { isOpen, count } = this.#recordings;
    return `event: state\ndata: ${JSON.stringify(this.#snapshots.take(isOpen, count))}\n\n`;
  }

  #tick(): void {
    const { open, batches, changes } = this.#ledger;
    const isBusy = open.size > 0 || batches.some(({ outcome }) => outcome === 'running');
    if (open.size > 0) this.#recordings.offer();
    const { count, isOpen } = this.#recordings;
    const isSame =
      changes === this.#sentChanges && count === this.#sentTimeline && isOpen === this.#sentRecording;
    const isQuiet = !isBusy && !isOpen && isSame;
    if (isQuiet && ++this.#quiet < QUIET_PERIODS) return;
    this.#quiet = 0;
    this.#sentChanges = changes;
    this.#sentTimeline = count;
    this.#sentRecording = isOpen;
    const event = this.#event();
    for (const page of this.#pages) {
      if (!page.response.writableNeedDrain) page.behind = 0;
      else if (++page.behind > PATIENCE_PERIODS) page.response.destroy();
      // A page that is behind gets a later state instead.
      if (page.behind === 0) page.response.write(event);
    }
  }
}

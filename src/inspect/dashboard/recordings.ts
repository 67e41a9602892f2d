/**
 * Short recordings of what streams and threads do, for the dashboard's timeline and rates. They are taken while a page
 * is open and something is computed, for at most a hundredth of the time, and for two seconds when a person asks.
 * `profile()` has precedence: a recording that is under way is dropped for it. Called by `server.ts`.
 */
import { beginRecording, endRecording } from '../../exec/native/recorder.js';
import { ArgumentError } from '../../host/errors.js';
import { timelineOf } from '../timeline.js';
import type { TimelineData } from '../timeline-data.js';
import { barsOf, rowsToDraw } from '../timeline-rows.js';
import { busyOf, summarize } from '../timeline-summary.js';
import type { PageTimeline } from './state.js';

/** The share of the time that is recorded, the shortest recording worth its while, and the longest by itself. */
const SHARE = 0.01;
const LEAST_MS = 200;
const MOST_MS = 400;
const ASKED_MS = 2000;
/** The length of a row in the page's units, which bars are rounded to. */
const UNITS = 1000;
const KERNELS = 12;
const SAMPLES = 300;

export class Recordings {
  /** The last one, and how many there were. */
  last: PageTimeline | undefined;
  count = 0;
  isOpen = false;
  readonly #origin: number;
  #allowed = MOST_MS;
  #at: number;
  #stop: (() => Promise<void>) | undefined;

  /** `origin`: when the dashboard began. */
  constructor(origin: number) {
    this.#origin = origin;
    this.#at = performance.now();
  }

  /** Records if that is due: called while a page is open and something runs, at each of its calls. */
  offer(now = performance.now()): void {
    if (this.isOpen) return;
    this.#allowed = Math.min(MOST_MS, this.#allowed + SHARE * (now - this.#at));
    this.#at = now;
    if (this.#allowed < LEAST_MS) return;
    const length = this.#allowed;
    if (this.record(length)) this.#allowed = 0;
  }

  /** Records for so long; false: a recording is under way, or a `profile()`. */
  record(milliseconds = ASKED_MS): boolean {
    if (this.isOpen) return false;
    try {
      const open = beginRecording(true);
      const begin = performance.now() - this.#origin;
      this.isOpen = true;
      const timer = setTimeout(() => void this.stop(), milliseconds).unref();
      this.#stop = () => {
        clearTimeout(timer);
        return this.#end(open, begin);
      };
      return true;
    } catch (error) {
      if (error instanceof ArgumentError) return false;
      throw error;
    }
  }

  /** Ends the one that is under way, before its time. */
  async stop(): Promise<void> {
    const stop = this.#stop;
    this.#stop = undefined;
    await stop?.();
  }

  async #end(open: ReturnType<typeof beginRecording>, begin: number): Promise<void> {
    try {
      const recording = await endRecording(open);
      const timeline = recording && timelineOf(recording);
      if (timeline !== undefined && timeline.spans.length > 0)
        this.last = pageTimeline(timeline, ++this.count, begin);
    } catch {
      // Without a device that was lost meanwhile there is no timeline; the compute tells of it.
    } finally {
      this.isOpen = false;
    }
  }
}

/** A timeline for the page, from the first of its spans to the last. */
function pageTimeline(timeline: TimelineData, number: number, begin: number): PageTimeline {
  const { spans, memory, dropped } = timeline;
  const from = spans.reduce((least, span) => Math.min(least, span.begin), timeline.duration);
  const to = spans.reduce((most, span) => Math.max(most, span.end), 0);
  const length = Math.max(to - from, 1e-6);
  const at = (time: number): number => ((time - from) / length) * UNITS;
  const rounded = (value: number): number => Math.round(value * 10) / 10;
  const { streams, work } = summarize(timeline);
  const rows = rowsToDraw(timeline, true).map(({ label, spans: own }) => ({
    label,
    isHost: own[0]?.device === 'host',
    busy: Math.min(1, busyOf(own) / length),
    bars: barsOf(own, at, from, to).map(
      (bar) => [rounded(bar.begin), rounded(bar.end), bar.kind, bar.names] as const,
    ),
  }));
  const every = Math.ceil(memory.length / SAMPLES);
  return {
    number,
    begin: begin + from,
    milliseconds: length,
    dropped,
    rows,
    rates: streams.flatMap(({ device, row, rate, bytes }) =>
      bytes > 0 ? [{ device, row, rate, bytes }] : [],
    ),
    work: work.slice(0, KERNELS).map(({ device, kind, name, count, total, bytes }) => ({
      device,
      kind,
      name: name === '' ? kind : name,
      count,
      milliseconds: total,
      bytes,
    })),
    memory: memory
      .filter(({ device }, k) => device !== 'host' && k % every === 0)
      .map(
        ({ device, time, bytes }) =>
          [device, rounded(Math.min(UNITS, Math.max(0, at(time)))), bytes] as const,
      ),
  };
}

/**
 * Timeline: what `profile()` recorded: what ran when on which stream of which device, what threads of the
 * host did meanwhile, and how much memory was held. Prints as a table (`timeline-summary.ts`); becomes a
 * Chrome trace (`chrome-trace.ts`) or a picture (`timeline-svg.ts`).
 */

import type { Recording } from '../exec/native/recorder.js';
import {
  DISPLAY,
  folded,
  INSPECT,
  type InspectOptions,
  isTooDeep,
  type MimeBundle,
  named,
} from '../host/display.js';
import { NATIVE_SPAN_KINDS, SAMPLE, SAMPLE_FIELDS, SPAN, SPAN_FIELDS } from '../shared/layout.js';
import { chromeTrace } from './chrome-trace.js';
import type { MemorySample, TimelineData, TimelineSpan } from './timeline-data.js';
import { printSummary, type Summary, summarize } from './timeline-summary.js';
import { drawTimeline, type PictureOptions } from './timeline-svg.js';

const MILLISECOND = 1e6;

/**
 * A timeline of spans: prints as a table, `toChromeTrace()` is JSON for trace viewers, `toSVG()` a picture.
 */
export class Timeline implements TimelineData {
  readonly duration: number;
  readonly spans: readonly TimelineSpan[];
  readonly memory: readonly MemorySample[];
  readonly dropped: number;

  constructor({ duration, spans, memory, dropped }: TimelineData) {
    this.duration = duration;
    this.spans = spans;
    this.memory = memory;
    this.dropped = dropped;
  }

  /**
   * Kernels and other work by the time they took, rates of copies, how busy each stream was.
   *
   * @example
   * const { timeline } = await profile(lazy([1, 2]).sum(), { device: 'cpu' })
   * timeline.summary().work.map(({ name, count }) => [name, count])
   * //=> [ [ 'reduce_sum', 1 ] ]
   */
  summary(): Summary {
    return summarize(this);
  }

  /**
   * The summary as a table.
   *
   * @example
   * const { timeline } = await profile(lazy([1, 2]).sum(), { device: 'cpu' })
   * String(timeline).includes('reduce_sum')
   * //=> true
   */
  toString(): string {
    return printSummary(this.summary());
  }

  /** At depth 0 how long it took alone. */
  [INSPECT](depth?: number | null, options: InspectOptions = {}): string {
    const text = this.toString();
    if (isTooDeep(depth)) return named(`Timeline of ${this.duration.toFixed(3)} ms`, options);
    return folded(depth === 0 ? text.slice(0, text.indexOf('\n')) : text, options);
  }

  /** In notebooks: the picture. */
  [DISPLAY](): MimeBundle {
    return { 'text/plain': this.toString(), 'image/svg+xml': this.toSVG() };
  }

  /**
   * Stable: fields are added, never renamed.
   *
   * @example
   * const { timeline } = await profile(lazy([1, 2]).sum(), { device: 'cpu' })
   * timeline.toJSON().spans.some(({ kind }) => kind === 'kernel')
   * //=> true
   */
  toJSON(): TimelineData {
    const { duration, spans, memory, dropped } = this;
    return { duration, spans, memory, dropped };
  }

  /**
   * As JSON text of the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing show: a
   * process for each device and one for the host, a thread for each stream and thread, counters for memory.
   *
   * @example
   * const { timeline } = await profile(lazy([1, 2]).sum(), { device: 'cpu' })
   * Object.keys(JSON.parse(timeline.toChromeTrace()))
   * //=> [ 'displayTimeUnit', 'traceEvents' ]
   */
  toChromeTrace(): string {
    return chromeTrace(this);
  }

  /**
   * A picture: a row for each stream and each group of threads, time to the right, the memory that devices
   * hold below.
   *
   * @example
   * const { timeline } = await profile(lazy([1, 2]).sum(), { device: 'cpu' })
   * timeline.toSVG().startsWith('<svg')
   * //=> true
   */
  toSVG(options?: PictureOptions): string {
    return drawTimeline(this, options);
  }
}

/** The timeline of a recording. */
export function timelineOf({ native, spans: own }: Recording): Timeline {
  const { tracks, names, spans, samples, nanoseconds, dropped } = native;
  const all: TimelineSpan[] = own.map(({ kind, name, begin, end }) => ({
    device: 'host',
    row: 'JavaScript',
    kind,
    name,
    begin: begin / MILLISECOND,
    end: end / MILLISECOND,
    bytes: 0,
  }));
  for (let at = 0; at < spans.length; at += SPAN_FIELDS) {
    const of = (field: keyof typeof SPAN): number => spans[at + SPAN[field]]!;
    const { device, name: row } = tracks[of('track')]!;
    all.push({
      device,
      row,
      kind: NATIVE_SPAN_KINDS[of('kind')]!,
      name: names[of('name')]!,
      begin: of('begin') / MILLISECOND,
      end: of('end') / MILLISECOND,
      bytes: of('bytes'),
      ...(of('tile') < 0 ? {} : { tile: of('tile') }),
    });
  }
  // An enclosing span begins before the inner one, or ends after it.
  all.sort((a, b) => a.begin - b.begin || b.end - a.end);
  const memory: MemorySample[] = [];
  for (let at = 0; at < samples.length; at += SAMPLE_FIELDS) {
    const of = (field: keyof typeof SAMPLE): number => samples[at + SAMPLE[field]]!;
    const time = Math.max(0, of('time') / MILLISECOND);
    memory.push({ device: names[of('device')]!, time, bytes: of('bytes') });
  }
  memory.sort((a, b) => a.time - b.time);
  return new Timeline({ duration: nanoseconds / MILLISECOND, spans: all, memory, dropped });
}

/**
 * Timeline: what `profile()` recorded: what ran when on which stream of which device, what threads of the host did meanwhile,
 * and how much memory was held. Prints as a table (`timeline-summary.ts`); becomes a Chrome trace (`trace.ts`) or a picture
 * (`timeline-svg.ts`).
 */
import { SAMPLE_FIELDS, SPAN_FIELDS } from '../exec/native-types.js';
import type { HostWork, Recording } from '../exec/recorder.js';
import { printSummary, type Summary, summarize } from './timeline-summary.js';
import { drawTimeline, type PictureOptions } from './timeline-svg.js';
import { chromeTrace } from './trace.js';

/** In the order of `Kind` in `native/runtime/recorder.h`. */
const NATIVE_KINDS = [
  'kernel',
  'library',
  'graph',
  'zero',
  'copy in',
  'copy out',
  'copy within',
  'copy between',
  'queue',
  'stage',
  'read',
  'write',
  'compile',
  'load',
] as const;

/**
 * On devices: `kernel`, `library` (a matrix product), `graph` (launches that are repeated as one CUDA graph), `zero` (memory that
 * is set to 0), `copy in` and `copy out` (from and to the host), `copy within`, `copy between` (devices). On the host:
 * `queue` (a run's work is queued on a GPU), `stage` (bytes to or from pinned memory), `read` and `write` (of files), `compile`
 * (NVRTC), `load` (code to a GPU), `plan`, `codegen` (CUDA C), `program` (a plan becomes a native program).
 */
export type SpanKind = (typeof NATIVE_KINDS)[number] | HostWork;

/** Something that took time; times in milliseconds after the profile's begin. */
export interface TimelineSpan {
  /** `cuda:0`, `cpu`, or `host` for what threads do besides. */
  readonly device: string;
  /** The stream or thread: `stream 0`, `copies in`, `JavaScript` … */
  readonly row: string;
  readonly kind: SpanKind;
  /** Of a kernel, that of its function; of a file, its path; empty: the kind says it. */
  readonly name: string;
  readonly begin: number;
  readonly end: number;
  /** Bytes that were copied, read or written; 0: none, or it is not known. */
  readonly bytes: number;
  /** Of a sweep over tiles; absent: it belongs to none. */
  readonly tile?: number;
}

/** What a device, or the host, has out from a time on. */
export interface MemorySample {
  readonly device: string;
  readonly time: number;
  readonly bytes: number;
}

export interface TimelineData {
  /** Milliseconds from begin to end. */
  readonly duration: number;
  /** By their begin. */
  readonly spans: readonly TimelineSpan[];
  readonly memory: readonly MemorySample[];
  /** Spans and samples that were not kept: there were too many, or a device was lost. */
  readonly dropped: number;
}

const MILLISECOND = 1e6;

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

  /** Kernels and other work by the time they took, rates of copies, how busy each stream was. */
  summary(): Summary {
    return summarize(this);
  }

  /** The summary as a table. */
  toString(): string {
    return printSummary(this.summary());
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** Stable: fields are added, never renamed. */
  toJSON(): TimelineData {
    const { duration, spans, memory, dropped } = this;
    return { duration, spans, memory, dropped };
  }

  /**
   * As JSON text of the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing show: a process for each device
   * and one for the host, a thread for each stream and thread, counters for memory.
   */
  toChromeTrace(): string {
    return chromeTrace(this);
  }

  /** A picture: a row for each stream and each group of threads, time to the right, the memory that devices hold below. */
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
    const [track, kind, name, begin, end, bytes, tile] = spans.subarray(at, at + SPAN_FIELDS);
    const { device, name: row } = tracks[track!]!;
    all.push({
      device,
      row,
      kind: NATIVE_KINDS[kind!]!,
      name: names[name!]!,
      begin: begin! / MILLISECOND,
      end: end! / MILLISECOND,
      bytes: bytes!,
      ...(tile! < 0 ? {} : { tile: tile! }),
    });
  }
  // What contains another begins before it, or ends after it.
  all.sort((a, b) => a.begin - b.begin || b.end - a.end);
  const memory: MemorySample[] = [];
  for (let at = 0; at < samples.length; at += SAMPLE_FIELDS) {
    const [device, time, bytes] = samples.subarray(at, at + SAMPLE_FIELDS);
    memory.push({ device: names[device!]!, time: Math.max(0, time! / MILLISECOND), bytes: bytes! });
  }
  memory.sort((a, b) => a.time - b.time);
  return new Timeline({ duration: nanoseconds / MILLISECOND, spans: all, memory, dropped });
}

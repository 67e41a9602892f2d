/**
 * Records what `profile()` shows: native work by the addon's recorder, and here what this JavaScript thread
 * does: planning, writing code, making programs. Without a recording, `timed` only calls what it is given.
 */
import type { Slices } from '../../host/slices.js';
import { beginProfile, endProfile, type RawTimeline } from './native.js';

/** Kinds of work of this thread for a compute. */
export type HostWork = 'plan' | 'codegen' | 'program';

/** Work of this thread; times are nanoseconds after the recording's begin. */
export interface HostSpan {
  readonly kind: HostWork;
  readonly name: string;
  readonly begin: number;
  readonly end: number;
}

export interface Recording {
  readonly native: RawTimeline;
  /** Of this thread. */
  readonly spans: readonly HostSpan[];
}

/** A recording under way. */
export interface OpenRecording {
  readonly begin: number;
  readonly number: number;
  readonly spans: HostSpan[];
}

let recorded: OpenRecording | undefined;

// The clock of the addon's recorder.
const now = (): number => Number(process.hrtime.bigint());

/**
 * Begins a recording. One that `yields` is dropped where another begins. Throws an ArgumentError where one that
 * does not is under way in this process.
 */
export function beginRecording(yields = false): OpenRecording {
  recorded = { ...beginProfile(yields), spans: [] };
  return recorded;
}

/** Ends a recording; undefined: it was dropped for another. */
export async function endRecording(open: OpenRecording): Promise<Recording | undefined> {
  if (recorded === open) recorded = undefined;
  const native = await endProfile(open.number);
  return native === null ? undefined : { native, spans: open.spans };
}

/** Pauses of slices up to so many nanoseconds are no turns of the event loop: one span goes on. */
const SHORT_PAUSE = 20_000;

/**
 * As `timed`, of work in slices: a span for each stretch without a turn of the event loop. Work that began before a recording
 * is not in it.
 */
export const timedSlices = <T>(kind: HostWork, name: string, work: Slices<T>): Slices<T> =>
  recorded === undefined ? work : recordedSlices(kind, name, work);

function* recordedSlices<T>(kind: HostWork, name: string, work: Slices<T>): Slices<T> {
  for (;;) {
    const step = timed(kind, name, () => work.next());
    if (recorded !== undefined) joinLastTwo(recorded.spans);
    if (step.done === true) return step.value;
    yield;
  }
}

function joinLastTwo(spans: HostSpan[]): void {
  const [before, last] = spans.slice(-2);
  if (last === undefined || before?.name !== last.name || last.begin - before.end > SHORT_PAUSE) return;
  spans.splice(-2, 2, { ...last, begin: before.begin });
}

/** Whether a recording is under way. */
export const isRecording = (): boolean => recorded !== undefined;

/** Does what takes time on this thread, and records it. */
export function timed<T>(kind: HostWork, name: string, work: () => T): T {
  if (recorded === undefined) return work();
  const { begin, spans } = recorded;
  const start = now();
  try {
    return work();
  } finally {
    spans.push({ kind, name, begin: start - begin, end: now() - begin });
  }
}

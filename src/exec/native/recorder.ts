/**
 * Records what `profile()` shows: native work by the addon's recorder, and here what this JavaScript thread
 * does: planning, writing code, making programs. Without a recording, `timed` only calls what it is given.
 */
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

let recorded: { readonly begin: number; readonly spans: HostSpan[] } | undefined;

// The clock of the addon's recorder.
const now = (): number => Number(process.hrtime.bigint());

/** Begins a recording. Throws an ArgumentError where one is under way in this process. */
export function beginRecording(): void {
  recorded = { begin: beginProfile(), spans: [] };
}

/** Ends the recording. */
export async function endRecording(): Promise<Recording> {
  const { spans } = recorded!;
  recorded = undefined;
  return { native: await endProfile(), spans };
}

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

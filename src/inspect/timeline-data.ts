/** The contents of a timeline as plain data: spans of work and samples of memory. */

import type { HostWork } from '../exec/native/recorder.js';
import type { NATIVE_SPAN_KINDS } from '../shared/layout.js';

/**
 * On devices: `kernel`, `library` (a matrix product), `graph` (launches that are repeated as one CUDA graph),
 * `zero` (memory that is set to 0), `copy in` and `copy out` (from and to the host), `copy within`, `copy
 * between` (devices). On the host: `queue` (a run's work is queued on a GPU), `stage` (bytes to or from
 * pinned memory), `read` and `write` (of files), `compile` (NVRTC), `load` (code to a GPU), `plan`, `codegen`
 * (CUDA C), `program` (a plan becomes a native program).
 */
export type SpanKind = (typeof NATIVE_SPAN_KINDS)[number] | HostWork;

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

/** Bytes in use on a device, or the host, from a time on. */
export interface MemorySample {
  readonly device: string;
  readonly time: number;
  readonly bytes: number;
}

/** A timeline as data. */
export interface TimelineData {
  /** Milliseconds from begin to end. */
  readonly duration: number;
  /** By their begin. */
  readonly spans: readonly TimelineSpan[];
  readonly memory: readonly MemorySample[];
  /** Spans and samples that were not kept: there were too many, or a device was lost. */
  readonly dropped: number;
}

/** The state of a process as the dashboard's page gets it: plain data, as JSON. Times are milliseconds. */
import type { BatchProgress } from '../../exec/run/watch.js';
import type { PlanNode } from '../draw.js';
import type { ExplainedStep } from '../explanation-data.js';
import type { SpanKind } from '../timeline-data.js';

/** A compute that waits, is planned or runs, or one that is over. */
export interface ComputeState {
  readonly id: number;
  /** The names of its kernels and calls; before its plan is made, its result. */
  readonly title: string;
  /** `file:line` of the call that made its first result. */
  readonly site: string | undefined;
  readonly isCompiled: boolean;
  readonly devices: readonly string[];
  /** The number of its program, for its graph. */
  readonly program: number | undefined;
  /** Bytes that it may hold on a device, and those that its plan holds at most; undefined: not known, or no bound. */
  readonly budget: number | undefined;
  readonly peakBytes: number | undefined;
}

export interface ActiveCompute extends ComputeState {
  readonly stage: 'planning' | 'running';
  /** Since its call. */
  readonly milliseconds: number;
  /** Tiles and bytes, where it runs in tiles or steps. */
  readonly progress:
    | {
        readonly tiles: number;
        readonly totalTiles: number;
        readonly bytes: number;
        readonly totalBytes: number;
        readonly steps: readonly string[];
      }
    | undefined;
  /** By the tiles so far, else by the last time that its program ran; undefined: unknown. */
  readonly millisecondsLeft: number | undefined;
  readonly share: number | undefined;
}

export interface EndedCompute extends ComputeState {
  readonly outcome: 'done' | 'failed' | 'cancelled';
  readonly error: string | undefined;
  /** Of several runs of one program after each other: how many, and the sum of their times. */
  readonly count: number;
  readonly milliseconds: number;
  /** The first of them began, the last one ended: since the dashboard began. */
  readonly begin: number;
  readonly end: number;
}

export interface BatchState {
  readonly id: number;
  readonly site: string | undefined;
  readonly outcome: 'running' | 'done' | 'failed' | 'cancelled';
  readonly total: number | undefined;
  readonly counts: BatchProgress;
  readonly millisecondsLeft: number | undefined;
  readonly devices: readonly { readonly device: string; readonly jobs: number }[];
  readonly error: string | undefined;
  /** The last jobs that failed. */
  readonly failures: readonly {
    readonly index: number;
    readonly name: string | undefined;
    readonly device: string | undefined;
    readonly error: string;
  }[];
}

export interface DeviceState {
  readonly device: string;
  readonly model: string;
  readonly totalBytes: number | undefined;
  readonly inUse: number;
  readonly held: number;
  readonly peak: number;
  readonly pinned: number;
  /** The process's limit, or the least budget of the computes that run there; undefined: all of its memory. */
  readonly limit: number | undefined;
  readonly budget: number | undefined;
}

/** Counters since the process began; the page makes rates of them. */
export interface Counters {
  readonly kernels: number;
  readonly calls: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly bytesBetween: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Bytes that kernels of programs that ended, and of tiles done, read and wrote in memory, by their plans. */
  readonly kernelBytes: number;
}

export interface CacheState {
  readonly programs: { readonly graphs: number; readonly most: number; readonly nodes: number };
  readonly kernels: {
    readonly inMemory: number;
    readonly memoryHits: number;
    readonly diskHits: number;
    readonly compiles: number;
  };
  readonly disk:
    | {
        readonly path: string;
        readonly images: number;
        readonly byteLength: number;
        readonly byteLimit: number;
      }
    | undefined;
}

export interface DashboardState {
  readonly program: string;
  readonly pid: number;
  readonly node: string;
  /** Since the dashboard began. */
  readonly now: number;
  readonly active: readonly ActiveCompute[];
  /** Newest first. */
  readonly ended: readonly EndedCompute[];
  readonly totals: { readonly done: number; readonly failed: number; readonly cancelled: number };
  readonly batches: readonly BatchState[];
  readonly devices: readonly DeviceState[];
  readonly counters: Counters;
  readonly caches: CacheState;
  /** `recording`: under way; `timeline`: the number of the last one, 0: there is none. */
  readonly recording: boolean;
  readonly timeline: number;
}

/** A recording as the page draws it. */
export interface PageTimeline {
  readonly number: number;
  /** When its first span began, since the dashboard began, and how long it is until the end of its last. */
  readonly begin: number;
  readonly milliseconds: number;
  /** Spans that were not kept. */
  readonly dropped: number;
  readonly rows: readonly {
    readonly label: string;
    readonly isHost: boolean;
    /** The share of the time in which something ran. */
    readonly busy: number;
    /** Begin and end in thousandths of the timeline's length. */
    readonly bars: readonly (readonly [begin: number, end: number, kind: SpanKind, name: string])[];
  }[];
  /** Of streams that copied: GB/s while they did. */
  readonly rates: readonly {
    readonly device: string;
    readonly row: string;
    readonly rate: number;
    readonly bytes: number;
  }[];
  /** Kernels and other work of devices, longest first. */
  readonly work: readonly {
    readonly device: string;
    readonly kind: SpanKind;
    readonly name: string;
    readonly count: number;
    readonly milliseconds: number;
    readonly bytes: number;
  }[];
  readonly memory: readonly (readonly [device: string, at: number, bytes: number])[];
}

/** A program's plan as the page draws it. */
export interface PageProgram {
  readonly id: number;
  readonly title: string;
  readonly devices: readonly string[];
  readonly peakBytes: number;
  /** All of its steps; those beyond the most that a page shows are not among `steps`. */
  readonly count: number;
  readonly steps: readonly Omit<ExplainedStep, 'nodes' | 'lines'>[];
  /** Steps, inputs and results; of a step, `step` is its position. */
  readonly nodes: readonly {
    readonly kind: PlanNode['kind'];
    readonly label: string;
    readonly step: number | undefined;
    /** Its layer from above, and its centre across. */
    readonly layer: number;
    readonly centre: number;
  }[];
  /** Buffers that one node hands to another; `route`: centres across, in each layer from the first node's on. */
  readonly edges: readonly {
    readonly layer: number;
    readonly route: readonly number[];
    readonly buffer: string;
  }[];
  readonly width: number;
  readonly layers: number;
}

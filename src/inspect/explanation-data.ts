/** The findings of `explain.ts` as plain data. */
import type { Panels } from '../exec/plan/plan.js';
import type { LaunchedKernel } from '../exec/targets/target.js';
import type { Reason } from '../fusion/partition/union.js';
import type { PassChanges } from '../fusion/passes/pipeline.js';

/** One step of the plan: a generated kernel, or a matrix product by a library. */
export interface ExplainedStep {
  readonly kind: 'kernel' | 'call';
  /** Of a compute on several devices: the phase of the plan that it belongs to, and the devices that share it. */
  readonly phase?: { readonly number: number; readonly devices: readonly string[] };
  /**
   * Of a step that runs tile by tile: which sweep of the plan it belongs to, and how many tiles that has; of a product
   * that passes through memory in panels, with its readers, of how many bytes those are, and why.
   */
  readonly sweep?: { readonly number: number; readonly tiles: number; readonly panels?: Panels };
  /**
   * Of a step in a loop's body: which loop of the plan, and how often it runs; of loops in loops, the
   * innermost.
   */
  readonly loop?: { readonly number: number; readonly count: string };
  /** Of a plan in several streams: the one it runs in, and steps of others that it waits for. */
  readonly stream?: number;
  readonly after?: readonly number[];
  /** `reduce_square_sum`, `matmul`. */
  readonly name: string;
  /** Ids of the optimized graph's nodes that it computes. */
  readonly nodes: readonly number[];
  /**
   * `file:line` of the calls that made what it computes, each once; of a loop's body, in the function of the
   * loop.
   */
  readonly lines: readonly string[];
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Labels of the plan's buffers that it reads, and that it writes. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** The kernel as text; for a product, its sizes and the arithmetic it is computed in. */
  readonly text: string;
  /**
   * Of a generated kernel on a GPU: how it is laid out over blocks and threads, and why: by default, as predicted to be
   * faster, or as measured (`tune`).
   */
  readonly schedule?: string;
  /** The CUDA C that runs, on a GPU. */
  readonly source?: string;
  /** With `measure`, on a GPU: the kernels that it launches, with what they take of a multiprocessor. */
  readonly kernels?: readonly LaunchedKernel[];
  /** With `measure`, of a call: the counts that its time on the CPU is predicted by (`20 rows, 2,000 elements`). */
  readonly work?: string;
  /** With `measure`, of a kernel or a call that runs as a whole on one device: how long the cost model says that it takes. */
  readonly predictedMs?: number;
  /** The least of several runs on memory of its own, without queueing them; not where its buffers do not fit. */
  readonly measuredMs?: number;
  /** Of a call whose time depends on its data: how those were that it was measured on (`rows of equal length`). */
  readonly measuredOn?: string;
  /** With `measure`, of a step without `measuredMs`: in parts, or the reason for which it cannot run by itself. */
  readonly whyNotTimed?: string;
}

/** A value that goes through memory from one step to another. */
export interface ExplainedEdge {
  /** The stored value: `node 12`. */
  readonly buffer: string;
  /** Positions in `steps`. */
  readonly from: number;
  readonly to: number;
  /** Bytes written and read again for it. */
  readonly bytes: number;
  /** Why the two steps are not one. */
  readonly reason: Reason;
  /** Advice: a sentence for each reason. */
  readonly advice: string;
}

/** An array that two steps read. */
export interface ExplainedReading {
  /** The array: `source 0 float32`, `node 12`. */
  readonly buffer: string;
  /** Positions in `steps`: the first step that reads it, and another one. */
  readonly first: number;
  readonly second: number;
  /** Bytes of the array. */
  readonly bytes: number;
  /** Why the two steps are not one. */
  readonly reason: Reason;
  readonly advice: string;
}

/** An explanation as data. */
export interface ExplanationData {
  /** The device; of several, their names with commas between them. */
  readonly device: string;
  /** Why this device. */
  readonly deviceReason: string;
  /**
   * Parts of a graph of very many levels that are computed before the steps, each with steps of its own. All
   * else here but `peakBytes` is about what comes after them.
   */
  readonly segments: number;
  /** As the user built it, equal subexpressions once. */
  readonly graph: string;
  readonly optimizedGraph: string;
  readonly passes: readonly PassChanges[];
  readonly steps: readonly ExplainedStep[];
  readonly edges: readonly ExplainedEdge[];
  /** Arrays, but for short ones, that several steps read. */
  readonly readings: readonly ExplainedReading[];
  /** Labels of the buffers that hold the results. */
  readonly results: readonly string[];
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly arenaBytes: number;
  /** On the device that holds most. */
  readonly peakBytes: number;
  /**
   * On a GPU, how many launches and products each CUDA graph has that a compute consists of when it is
   * repeated; empty on the CPU.
   */
  readonly graphs: readonly number[];
  /** How the work is sharded to several devices, a line for each phase; empty: there is one device. */
  readonly sharding: string;
  /** Whether results may differ in rounding from the graph as written, by a reassociated sum. */
  readonly reassociated: boolean;
}

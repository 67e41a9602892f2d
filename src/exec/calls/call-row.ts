/**
 * CallRow: all that planning, cutting, issuing and printing ask of a call. A routine is a row of `table.ts`,
 * a form of its data in `call.ts` and the files that implement the row; nothing else names it.
 */

import type { DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import type { CudaSource } from '../../codegen/cuda/source.js';
import type { CallNode } from '../../fusion/partition/task-graph.js';
import type { ArrayType } from '../../graph/routine-row.js';
import type { Dim3 } from '../../graph/user-kernel.js';
import type { LaunchArgument, StepSpec } from '../native/program-types.js';
import type { TargetKind } from '../targets/device.js';
import type { BytePitches, Cut } from '../tiles/sweep-cuts.js';
import type { Sizer, SlotRules } from '../tiles/sweep-slots.js';
import type { SweptTask } from '../tiles/sweep-windows.js';
import type { CallStep, StepCost, WorkspaceNeed } from './call.js';
import type { CallSamples } from './call-samples.js';
import type { CallWork } from './call-work.js';
import type { ProductSpec } from './products/product-specs.js';

/** Where an operand lies: a plan's buffer, and in elements how its axes do there. */
export interface StridedOperand {
  readonly buffer: number;
  readonly offset: number;
  readonly strides: readonly number[];
}

/** The part of `explain()` that describes a call. */
export interface CallText {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly text: string;
}

/** A way to run a call in parts. */
export interface CallForm {
  readonly cut: Cut;
  /** The call that is run in such parts, where its units are others than those of the whole. */
  readonly step?: CallStep;
  /** Whether its results can be computed again in a later sweep: each part finishes what it writes. */
  readonly repeats: boolean;
  /** As of `Task`. */
  readonly isSeldomFollowed?: boolean;
}

/** Kernels that compute a call, as CUDA C and its launches in order. */
export interface CallKernels {
  readonly source: string;
  readonly launches: readonly CallLaunch[];
  /** How the source is compiled, where that is not as other sources of Weft's are. */
  readonly compiled?: Omit<CudaSource, 'text'> | undefined;
  /** How they go about it, for `explain()`, where that depends on the device. */
  readonly schedule?: string;
}

/**
 * A launch of a call's kernels. Of a call in units, it is for one unit, or it has as many blocks along x (`unitAxis`)
 * for each unit, in their order.
 */
export interface CallLaunch {
  /** Of the source, or its `entry`. */
  readonly function: string;
  /** Along x, or all three. */
  readonly blocks: number | Dim3;
  readonly threads: number | Dim3;
  /** Dynamic shared memory of a block; without it, none. */
  readonly sharedByteLength?: number;
  readonly unitAxis?: 'x' | 'y';
  /** Buffers are the plan's. */
  readonly args: readonly LaunchArgument[];
  readonly unit?: number;
  /** The source of its function where that is another than the call's, compiled as that is: sources are compiled at a time. */
  readonly source?: string;
}

/** A step in a native program. */
export type CallSpec = Exclude<StepSpec, { kind: 'sweep' }>;

/** A library's step on buffers of its own, by which its algorithms are measured. */
export interface CallTrial {
  readonly product: ProductSpec;
  /** Of its buffers. */
  readonly byteLengths: readonly number[];
}

/** Results that may be undefined behind their length, which the device finds. */
export interface OpenTails<Step extends CallStep> {
  /** The buffers with such tails: no step may read them. */
  readonly buffers: (step: Step) => readonly number[];
  /** The step that leaves the tails undefined. */
  readonly opened: (step: Step) => Step;
}

export interface CallRow<Step extends CallStep> {
  /** The step of nodes whose operands lie there; results are whole, in C order. `unitElements`: the target's. */
  readonly lower: (
    nodes: readonly CallNode[],
    operands: readonly (ArrayType & { readonly at: StridedOperand })[],
    results: readonly (ArrayType & { readonly buffer: number })[],
    unitElements?: number,
  ) => Step;
  /** Buffers that it reads, and those that it writes, each as often as it names them. */
  readonly buffersOf: (step: Step) => {
    readonly reads: readonly number[];
    readonly writes: readonly number[];
  };
  /** The step with other buffers. */
  readonly withBuffers: (step: Step, moved: (buffer: number) => number) => Step;
  /** Equal for calls that differ at most in the buffers they name. */
  readonly keyOf: (step: Step) => string;
  /** Where it may write its first result over its first operand, if that is of the same size; without it, nowhere. */
  readonly overwrites?: Partial<Readonly<Record<TargetKind, boolean>>> | undefined;
  /** Of results whose length the device finds, and that may be undefined behind it; without it, none. */
  readonly openTails?: OpenTails<Step> | undefined;
  /** Whether it has nothing to compute. */
  readonly isEmpty: (step: Step) => boolean;
  readonly workspace: Readonly<Record<TargetKind, (step: Step) => WorkspaceNeed>>;
  /** On a GPU of so many multiprocessors. */
  readonly costOf: (step: Step, multiprocessors: number) => StepCost;
  /** Multiply-adds on the CPU, where they say how long it takes there. */
  readonly operations?: (step: Step) => number;
  /** How much it does: its time on the CPU grows with that. */
  readonly work: (step: Step) => CallWork;
  /** The data that it is timed on by itself; a reason: none stand for its operands. */
  readonly samples: (step: Step) => CallSamples | string;
  /** How the user has it computed in parts, where it has no forms. */
  readonly hint?: string | undefined;
  /** The ways to run it in parts, best first; none: it runs as a whole. */
  readonly forms: (step: Step) => readonly CallForm[];
  /** The ways to make its result panel by panel; without it, there are none. */
  readonly panels?: (step: Step) => readonly Cut[];
  /** Bytes of panels on the CPU that lose little time, of a result that is so many at least; without it, any do. */
  readonly panelBytes?: (step: Step, leastPanels: number) => number;
  /** Runs it in blocks of its result, where no single form will do: panels of its operands pass by turns. */
  readonly blocks?: {
    readonly canRun: (step: Step) => boolean;
    readonly sizer: (swept: SweptTask, step: Step, rules: SlotRules) => Sizer;
    /** Of a step two operands of which are one buffer: that, and the step with another buffer for the second. */
    readonly twice?: (
      step: Step,
    ) => { readonly buffer: number; readonly apart: (other: number) => Step } | undefined;
  };
  /**
   * The step with the strides that its operands have in slots of a sweep, whose rows are `inSlot` bytes
   * apart.
   */
  readonly inSlots: (step: Step, pitches: BytePitches, inSlot: BytePitches) => Step;
  /** Its step in a native program: on the CPU, and on a GPU where there is no `kernels`. */
  readonly spec: (step: Step) => CallSpec;
  /** Of a library for GPUs that has several algorithms for a step. */
  readonly tuning?: {
    /** A step to measure them by, with so much workspace; undefined: there is no choice. */
    readonly trial: (step: Step, workspaceByteLength: number) => CallTrial | undefined;
    /** Its step in a native program, with an algorithm that was measured. */
    readonly spec: (step: Step, algorithm: readonly number[]) => CallSpec;
  };
  /** On a GPU with these limits, the kernels of Weft's own that compute it. */
  readonly kernels?: (step: Step, limits: DeviceLimits) => CallKernels | undefined;
  /** One line, without its buffers. */
  readonly print: (step: Step) => string;
  readonly explain: (step: Step, kind: TargetKind) => CallText;
}

/**
 * Plan: what a compute will do, as flat plain data: buffers with their places in the arena, and steps in order.
 *
 * It is made once per graph fingerprint and device (`planner.ts`), printed by `explain()`, and turned into a native
 * program by `program-cuda.ts` or `program-cpu.ts`.
 */

import type { Kernel } from '../../fusion/kernel.js';
import type { DType } from '../../graph/dtype.js';
import { formatCount } from '../../graph/print.js';

export interface PlanBuffer {
  /**
   * `spill`: a value that is too large for the device and waits in host memory between two sweeps; `state`: a loop's, which
   * lies in other buffers by turns.
   */
  readonly role: 'input' | 'output' | 'temporary' | 'spill' | 'state';
  readonly byteLength: number;
  /** Byte offset in the arena; 0 for inputs and outputs, which have memory of their own. */
  readonly offset: number;
  /** What it holds: `node 12`, `source 0 float32`, `scratch` … */
  readonly label: string;
  /** Whether sweeps bring windows of it to the device, which never holds all of it. */
  readonly windowed?: boolean;
  /** Of an input that is not in memory: whether the threads of the CPU read what they compute on, when they do. */
  readonly readInBlocks?: boolean;
  /** Of a windowed output that stays on its device: the bytes [first, last) that are there. */
  readonly part?: readonly [first: number, last: number];
}

/** A matrix operand, in elements: element (b, i, j) is at `offset + b * batchStride + i * rowStride + j * columnStride`. */
export interface MatrixOperand {
  readonly buffer: number;
  readonly offset: number;
  readonly batchStride: number;
  readonly rowStride: number;
  readonly columnStride: number;
}

/** Runs a kernel; `buffers[i]` is the plan buffer behind the kernel's buffer i, `scratch[i]` behind its scratch i. */
export interface KernelStep {
  readonly kind: 'kernel';
  readonly kernel: Kernel;
  readonly buffers: readonly number[];
  readonly scratch: readonly number[];
  readonly nodes: readonly number[];
  /** Of a kernel with feedback outside of a loop that counts them: how many steps it does. */
  readonly loopSteps?: number;
}

/** c = a · b for each of `batch` matrices: (m, k) · (k, n). One stride of a, b and c's (row, column) is 1. */
export interface MatmulStep {
  readonly kind: 'matmul';
  readonly dtype: DType;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  readonly a: MatrixOperand;
  readonly b: MatrixOperand;
  readonly c: MatrixOperand;
  /** The temporary that it may use besides: the plan's products share one. */
  readonly workspace?: number;
  readonly nodes: readonly number[];
}

/** One phase of a kernel, in parts along its reduced axes; or what combines its partial results after the last part. */
export interface PhaseStep extends Omit<KernelStep, 'kind'> {
  readonly kind: 'phase' | 'finish';
  readonly phase: number;
}

/** A buffer of which a sweep has windows on the device. */
export interface SweepWindows {
  readonly buffer: number;
  /** `in`: copied to the device before a tile, `out`: copied from it after a tile, `local`: neither. */
  readonly direction: 'in' | 'out' | 'local';
  /** Slot k is at `offset + k * slotByteLength` in the arena. */
  readonly offset: number;
  readonly slotByteLength: number;
  readonly slots: number;
  /** Bytes from row to row in a slot, for windows of several rows; else 0. */
  readonly slotPitch: number;
  /**
   * For each tile: slot, whether to copy (0 or 1), first byte, bytes of a row, rows, bytes from row to row in the whole
   * buffer. A window of one row lies in its slot at its first byte modulo 256, so that addresses are as aligned as
   * in the whole buffer; one of several rows at the slot's start. Kernels get the address that the whole
   * buffer's first byte would have (for several rows: with rows `slotPitch` apart).
   */
  readonly windows: Float64Array;
}

/** Walks tiles: each brings windows in, runs every step on its ranges, and sends windows out. */
export interface SweepStep {
  readonly kind: 'sweep';
  readonly tiles: number;
  /** Of tiles that several devices take as they become free: for each, the part that is taken as one. */
  readonly claims?: Float64Array;
  readonly windows: readonly SweepWindows[];
  readonly body: readonly {
    readonly step: Exclude<Step, SweepStep>;
    /** For each launch of the step, six numbers a tile: as `SweepStep.ranges` of `native-types.ts`. */
    readonly ranges: readonly Float64Array[];
  }[];
}

/** A state of a loop: places in the plan's buffers. */
export interface LoopState {
  /** Holds it before the first step; never written. */
  readonly initial: number;
  /** The buffers of role `state` that the body reads it from, and writes the next one to. */
  readonly current: number;
  readonly next: number;
  /**
   * Two that states are written to by turns; `last` holds the last one. They are the same where every element is read by the
   * thread that then writes it; `other` is -1 where the body is run once.
   */
  readonly last: number;
  readonly other: number;
  /** Takes the states that are kept, one after the other; -1: none are. */
  readonly kept: number;
}

/** How the steps of a loop whose body is one map follow one another through its tiles, each before the one ahead has ended. */
export interface LoopSkew {
  /** Tiles that a step stays behind the one before it. */
  readonly tiles: number;
  /** Buffers of the kernel that are read as so much more as there were steps before: its `counters`. */
  readonly counters: readonly number[];
}

/** Runs a body again and again. */
export interface LoopStep {
  readonly kind: 'loop';
  readonly steps: number;
  /** Position among `states` of the bool that says whether to go on; -1: none does. */
  readonly condition: number;
  /** Steps from one state that is kept to the next; 0: none are. */
  readonly every: number;
  /** The most steps that one run of the body does. */
  readonly stepsAtOnce: number;
  readonly states: readonly LoopState[];
  /** Of a loop that is larger than the device, sweeps: then its states lie in host memory. */
  readonly body: readonly Step[];
  /** The temporary in which a GPU counts the steps, where it decides by itself whether to go on (`loop-records.ts`). */
  readonly record?: number;
  /** Absent: a step begins when the one before it has ended. */
  readonly skew?: LoopSkew | undefined;
  readonly nodes: readonly number[];
}

export type Step = KernelStep | MatmulStep | PhaseStep | SweepStep | LoopStep;

/** The kernels that a step runs. */
export function kernelsOf(step: Step): readonly Kernel[] {
  if (step.kind === 'sweep') return step.body.flatMap((part) => kernelsOf(part.step));
  if (step.kind === 'loop') return step.body.flatMap(kernelsOf);
  return step.kind === 'matmul' ? [] : [step.kernel];
}

/** The sweeps of a step: itself, or those in a loop's body. */
export function sweepsOf(step: Step): readonly SweepStep[] {
  if (step.kind === 'loop') return step.body.flatMap(sweepsOf);
  return step.kind === 'sweep' ? [step] : [];
}

/** Where a step runs. */
export interface StepStream {
  readonly stream: number;
  /** Steps of other streams that have to end before it begins; what comes before those is not named again. */
  readonly after: readonly number[];
}

/** Of a plan whose steps run in several streams of a GPU. Each stream begins after what was queued before the plan. */
export interface StreamPlan {
  readonly count: number;
  /** Of each step. */
  readonly steps: readonly StepStream[];
  /** Steps that end streams: what comes after the plan, in stream 0, waits for them. */
  readonly ends: readonly number[];
}

/** The buffer that a product may use besides. */
export const workspaceOf = (step: Step): number | undefined =>
  step.kind === 'matmul' ? step.workspace : undefined;

export interface Plan {
  readonly buffers: readonly PlanBuffer[];
  readonly steps: readonly Step[];
  /** Absent: the steps run one after the other. */
  readonly streams?: StreamPlan;
  /** For each buffer of role `input`, in order: the source of the graph that fills it. */
  readonly inputs: readonly number[];
  /** For each output of the graph: its place among the buffers of role `output`; -1: it has no elements. */
  readonly outputs: readonly number[];
  readonly arenaByteLength: number;
  /**
   * Upper bound of the device memory a run holds: inputs that must be brought in, outputs, arena, scratch, workspaces, as the
   * device's pool rounds blocks.
   */
  readonly peakBytes: number;
  /** Pinned memory that a GPU's copies of each kind go through, where that is less than is of use. */
  readonly copyByteLength?: number;
  /** Upper bound of the host memory a run takes beside arrays and results: values that wait there, pinned memory for copies. */
  readonly hostPeakBytes: number;
}

/** Prints a plan as text: buffers with their places, steps in order. */
export function printPlan(plan: Plan): string {
  const place = (buffer: PlanBuffer): string => {
    if (buffer.windowed === true) return ' in windows';
    if (buffer.readInBlocks === true) return ' in blocks';
    return buffer.role === 'temporary' ? ` at ${buffer.offset}` : '';
  };
  const buffers = plan.buffers.map(
    (buffer, k) => `b${k} ${buffer.role} ${buffer.byteLength} bytes${place(buffer)}: ${buffer.label}`,
  );
  const steps = plan.steps.map((step, k) => `${k} ${printStep(step)}${printStream(plan.streams?.steps[k])}`);
  return [`arena ${plan.arenaByteLength} bytes, peak ${plan.peakBytes} bytes`, ...buffers, ...steps].join(
    '\n',
  );
}

/** `, stream 1 after step 3`; nothing where there is one stream. */
export function printStream(place: StepStream | undefined): string {
  if (place === undefined) return '';
  const { stream, after } = place;
  const steps = after.length === 1 ? `step ${after[0]}` : `steps ${after.join(', ')}`;
  return `, stream ${stream}${after.length === 0 ? '' : ` after ${steps}`}`;
}

const indented = (text: string): string => text.replace(/^/gm, '  ');

/** How often a loop runs, as text. */
export function countOf({ steps, condition, every, stepsAtOnce, record }: LoopStep): string {
  const condition_ = condition < 0 ? undefined : condition;
  const count = formatCount({ steps, condition: condition_, every: every === 0 ? undefined : every });
  if (record !== undefined) return `${count}, decided on the device`;
  return stepsAtOnce === 1 ? count : `${count}, ${stepsAtOnce} at once`;
}

const list = (ids: readonly number[]): string => ids.map((b) => `b${b}`).join(' ');

function printStep(step: Step): string {
  switch (step.kind) {
    case 'kernel':
      return `${step.kernel.name}${step.loopSteps === undefined ? '' : `, ${step.loopSteps} steps`} ${list(step.buffers)}${step.scratch.length > 0 ? ` scratch ${list(step.scratch)}` : ''}`;
    case 'phase':
    case 'finish':
      return `${step.kernel.name} ${step.kind} ${step.phase} ${list(step.buffers)} scratch ${list(step.scratch)}`;
    case 'matmul':
      return `matmul ${step.dtype} ${step.batch} x (${step.m}, ${step.k}) @ (${step.k}, ${step.n}) ${list([step.a.buffer, step.b.buffer, step.c.buffer])}`;
    case 'loop': {
      const states = step.states.map(
        (s, k) =>
          `  state ${k}: b${s.current} to b${s.next}, from b${s.initial}, in b${s.last}${s.other < 0 || s.other === s.last ? '' : ` and b${s.other}`}${s.kept < 0 ? '' : `, kept in b${s.kept}`}`,
      );
      const body = step.body.map((part) => indented(printStep(part)));
      const skew = step.skew === undefined ? '' : `, skewed by ${step.skew.tiles}`;
      return [`loop ${countOf(step)}${skew}`, ...states, ...body].join('\n');
    }
    case 'sweep': {
      const windows = step.windows.map(
        (w) => `  b${w.buffer} ${w.direction}, ${w.slots} slots of ${w.slotByteLength} bytes at ${w.offset}`,
      );
      const body = step.body.map((part) => `  ${printStep(part.step)}`);
      return [`sweep of ${step.tiles} tiles`, ...windows, ...body].join('\n');
    }
  }
}

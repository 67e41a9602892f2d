/**
 * Plan: what a compute will do, as flat plain data: phases, in each of which some devices run a device plan:
 * steps, some of them sweeps over tiles. One device is one phase of one run. Between phases, values lie in
 * pieces on the devices that made them, or in host memory.
 *
 * It is made once per graph fingerprint and target (`run/planned.ts`), printed by `plan()` and `explain()`,
 * and turned into native programs by `program-cuda.ts` or `program-cpu.ts`.
 */

import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { BUFFER_ROLES } from '../../shared/layout.js';
import type { CallStep } from '../calls/call.js';

export interface PlanBuffer {
  /**
   * `spill`: a value that is too large for the device and waits in host memory between two sweeps; `state`: a
   * loop's, which lies in other buffers by turns.
   */
  readonly role: (typeof BUFFER_ROLES)[number];
  readonly byteLength: number;
  /** Byte offset in the arena; 0 for inputs and outputs, which have memory of their own. */
  readonly offset: number;
  /** Its contents: `node 12`, `source 0 float32`, `scratch` … */
  readonly label: string;
  /** Whether sweeps bring windows of it to the device, which never holds all of it. */
  readonly windowed?: boolean;
  /**
   * Of an input that is not in memory: whether the threads of the CPU read what they compute on, when they
   * do.
   */
  readonly readInBlocks?: boolean;
  /** Of a windowed output that stays on its device: the bytes [first, last) that are there. */
  readonly part?: readonly [first: number, last: number];
}

/**
 * Runs a kernel; `buffers[i]` is the plan buffer behind the kernel's buffer i, `scratch[i]` behind its
 * scratch i.
 */
export interface KernelStep {
  readonly kind: 'kernel';
  readonly kernel: Kernel;
  readonly buffers: readonly number[];
  readonly scratch: readonly number[];
  readonly nodes: readonly number[];
  /** Of a kernel with carried buffers outside of a loop that counts them: how many steps it does. */
  readonly loopSteps?: number;
}

/**
 * One phase of a kernel, in parts along its reduced axes; or what combines its partial results after the last
 * part.
 */
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
   * For each tile: slot, whether to copy (0 or 1; `local`: whether it begins with what the window before has of it, which
   * is moved there), first byte, bytes of a row, rows, bytes from row to row in the whole buffer. A window of one row lies in its slot at its first byte modulo 256, so that addresses
   * are as aligned as in the whole buffer; one of several rows at the slot's start. Kernels get the address
   * that the whole buffer's first byte would have (for several rows: with rows `slotPitch` apart).
   */
  readonly windows: Float64Array;
}

/**
 * How products are cut into blocks, each where nothing else fits with those before, which copy less: panels of two factors;
 * of a matrix and itself, too, as if those were two; narrow ones, whose parts the CPU's kernels add up in the order of the
 * whole, and a library in an order of its own.
 */
export const PRODUCT_PANELS = ['wide', 'apart', 'narrow'] as const;
export type ProductPanels = (typeof PRODUCT_PANELS)[number];

/** A product whose result passes through memory panel by panel (`tiles/panels.ts`), and why. */
export interface Panels {
  /** Of the buffer that it would be stored in. */
  readonly label: string;
  /** Of the result, and of the memory for a panel of it. */
  readonly byteLength: number;
  readonly panelByteLength: number;
  readonly reason: string;
  /** Labels of inputs that several steps read in each panel, which the first one brings into the cache. */
  readonly inputs?: readonly string[] | undefined;
}

/** How a kernel takes elements of arrays that are on the device in windows (`tiles/index-windows.ts`). */
export interface TakenWindows {
  /** Of the axis that is taken along. */
  readonly windows: number;
  /** Of the result: all windows come by for each. */
  readonly parts: number;
}

/** Walks tiles: each brings windows in, runs every step on its ranges, and sends windows out. */
export interface SweepStep {
  readonly kind: 'sweep';
  readonly tiles: number;
  /** Of tiles that several devices take as they become free: for each, the part that is taken as one. */
  readonly queueParts?: Float64Array;
  /** Of a sweep whose tiles are panels of a product. */
  readonly panels?: Panels | undefined;
  /** Of a sweep whose tiles are windows of indices. */
  readonly taken?: TakenWindows | undefined;
  readonly windows: readonly SweepWindows[];
  readonly body: readonly {
    readonly step: Exclude<Step, SweepStep>;
    /** For each launch of the step, six numbers a tile: as `SweepStep.ranges` of `program-types.ts`. */
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
   * Two that states are written to by turns; `last` holds the last one. They are the same where every element
   * is read by the thread that then writes it; `other` is -1 where the body is run once.
   */
  readonly last: number;
  readonly other: number;
  /** Takes the states that are kept, one after the other; -1: none are. */
  readonly kept: number;
}

/**
 * How the steps of a loop whose body is one map follow one another through its tiles, each before the one
 * ahead has ended.
 */
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
  /**
   * The temporary in which a GPU counts the steps, where it decides by itself whether to go on
   * (`loop-records.ts`).
   */
  readonly record?: number;
  /** Absent: a step begins when the one before it has ended. */
  readonly skew?: LoopSkew | undefined;
  readonly nodes: readonly number[];
}

export type Step = KernelStep | CallStep | PhaseStep | SweepStep | LoopStep;

/** The name of a kernel or of a call, else the kind of a step. */
export function stepName(step: Step): string {
  if ('kernel' in step) return step.kernel.name;
  return step.kind === 'call' ? callName(step) : step.kind;
}

/** The name of a call; of a user's kernel, that of the kernel. */
export const callName = (step: CallStep): string =>
  ('userKernel' in step ? step.userKernel?.name : undefined) ?? step.call;

/** The kernels of a step that run as a whole: not in tiles, and not in phases of several devices. */
export function wholeKernels(step: Step): readonly KernelStep[] {
  if (step.kind === 'loop') return step.body.flatMap(wholeKernels);
  return step.kind === 'kernel' ? [step] : [];
}

/**
 * The kernels whose schedules are measured, each with one of its steps: those that run as a whole, but for equal ones of a
 * step that reads a file as it goes. That waits for the file, and no other schedule makes it faster.
 */
export function measuredKernels(plan: DevicePlan): ReadonlyMap<Kernel, KernelStep> {
  const whole = plan.steps.flatMap(wholeKernels);
  // Equal kernels of a plan are one object.
  const steps = new Map(whole.map((step) => [step.kernel, step]));
  for (const step of whole) if (readsInBlocks(step, plan)) steps.delete(step.kernel);
  return steps;
}

const readsInBlocks = ({ buffers }: KernelStep, plan: DevicePlan): boolean =>
  buffers.some((buffer) => plan.buffers[buffer]!.readInBlocks === true);

/** The kernels that a step runs. */
export function kernelsOf(step: Step): readonly Kernel[] {
  if (step.kind === 'sweep') return step.body.flatMap((part) => kernelsOf(part.step));
  if (step.kind === 'loop') return step.body.flatMap(kernelsOf);
  return step.kind === 'call' ? [] : [step.kernel];
}

/** The sweeps of a step: itself, or those in a loop's body. */
export function sweepsOf(step: Step): readonly SweepStep[] {
  if (step.kind === 'loop') return step.body.flatMap(sweepsOf);
  return step.kind === 'sweep' ? [step] : [];
}

/** Whether arrays that elements are taken from pass more than once. */
export const takesInParts = ({ steps }: Pick<DevicePlan, 'steps'>): boolean =>
  steps.flatMap(sweepsOf).some(({ taken }) => taken !== undefined && taken.parts > 1);

/** Where a step runs. */
export interface StepStream {
  readonly stream: number;
  /** Steps of other streams that have to end before it begins; what comes before those is not named again. */
  readonly after: readonly number[];
}

/**
 * Of a plan whose steps run in several streams of a GPU. Each stream begins after what was queued before the
 * plan.
 */
export interface StreamPlan {
  readonly count: number;
  /** Of each step. */
  readonly steps: readonly StepStream[];
  /** Steps that end streams: what comes after the plan, in stream 0, waits for them. */
  readonly ends: readonly number[];
}

/** The buffer that a call may use besides its operands and results. */
export const workspaceOf = (step: Step): number | undefined =>
  step.kind === 'call' ? step.workspace : undefined;

/** The work of one device: buffers with their places in the arena, and steps in order. */
export interface DevicePlan {
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
   * Upper bound of the device memory a run holds: inputs that must be brought in, outputs, arena, scratch,
   * workspaces, as the device's pool rounds blocks.
   */
  readonly peakBytes: number;
  /** Pinned memory that a GPU's copies of each kind go through, where that is less than is of use. */
  readonly copyByteLength?: number;
  /**
   * Upper bound of the host memory a run takes beside arrays and results: values that wait there, pinned
   * memory for copies.
   */
  readonly hostPeakBytes: number;
}

/** A value of a plan: what is given to it, what it gives, and what phases hand on. */
export interface PlanValue {
  readonly label: string;
  readonly role: 'input' | 'output' | 'temporary';
  readonly byteLength: number;
  /** Of an input: the source of the graph that it is. */
  readonly source: number;
  /** Of what is made and needed after its phase: whether it waits in pieces on devices, or in host memory. */
  readonly location: 'devices' | 'host';
}

/** The work of one device in a phase. */
export interface DeviceRun {
  /** Position in `Plan.devices`. */
  readonly device: number;
  /** Its buffers have the numbers of `Plan.values`. */
  readonly plan: DevicePlan;
  /** The buffers of role input, and of role output, in order. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/**
 * Why one of several devices does all of a phase: it is sooner done than shared; it cannot be cut; it combines
 * partial results; there is no room for shares.
 */
export type WholeReason = 'short' | 'uncut' | 'combine' | 'memory';

/** A stretch of a plan without communication between devices. */
export interface Phase {
  /** `sharded`: every device does its share. `whole`: one device does all of it. */
  readonly kind: 'sharded' | 'whole';
  /** Of a compute on several devices: why one does all of it. */
  readonly reason?: WholeReason;
  readonly runs: readonly DeviceRun[];
  /**
   * Where devices take tiles as they become free: the number of parts of some tiles that they take. Each
   * run's plan has all the tiles then, in an order of its own.
   */
  readonly parts?: number;
  /** Of a compute on several devices: bytes that they copy from each other's memory. */
  readonly exchangedBytes?: number;
  /** Values that nothing needs any more once the phase is done. */
  readonly drops: readonly number[];
  /** Of a phase that does steps of a loop's body: the loop's nodes, and how often the phase is done at most. */
  readonly loop?: { readonly nodes: readonly number[]; readonly rounds: number };
}

/** A state of a loop that devices share: values that hold it by turns. */
export interface PhaseState {
  /** Holds it before the first round; read by the phases of that round. */
  readonly initial: number;
  /** Written by the first round; it is `current` after that. */
  readonly first: number;
  /** Read by later rounds, which write `next`: that is `current` after each. */
  readonly current: number;
  readonly next: number;
  /** Takes a copy of `current` that is kept, as the next part of `kept`; -1: none is. */
  readonly frame: number;
  readonly kept: number;
}

/** Phases that are done in rounds: the body of a loop that devices share. */
export interface PhaseLoop {
  /**
   * Phases [first, first + lead) are the first round, the next `steady` ones each later one; then come `keep` ones,
   * which copy states that are kept, after every so many rounds.
   */
  readonly first: number;
  readonly lead: number;
  readonly steady: number;
  readonly keep: number;
  /** Rounds from one state that is kept to the next; 0: none are. */
  readonly every: number;
  /** Values that nothing needs any more once the loop is done, beside those that its last phase or a later one drops. */
  readonly drops: readonly number[];
  /** At most so many, with the first one. */
  readonly rounds: number;
  /** Position among the states of the bool that says before each round whether to do it; -1: none does. */
  readonly condition: number;
  readonly states: readonly PhaseState[];
}

export interface Plan {
  readonly devices: readonly string[];
  readonly values: readonly PlanValue[];
  readonly phases: readonly Phase[];
  /** Those of the phases that are done again and again, in order; absent: none are. */
  readonly loops?: readonly PhaseLoop[];
  /** For each output of the graph, its value; -1: it has no elements. */
  readonly outputs: readonly number[];
  /** For each device, an upper bound of the bytes that the compute holds there. */
  readonly peakBytes: readonly number[];
  /** Upper bound of the host memory that it takes beside arrays and results. */
  readonly hostPeakBytes: number;
}

/**
 * Properties of a device that plans depend on: bytes that kernels, products and buffers take there, and how
 * it runs jobs in parts. `program-cuda.ts` and `program-cpu.ts` say it; `plan-graph.ts`, `sweeps.ts` and
 * `sharding.ts` reckon with it.
 */
import type { Works } from '../../codegen/cuts/work.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { CallStep, WorkspaceNeed } from '../calls/call.js';
import type { DevicePlan, KernelStep, Step, SweepWindows } from './plan.js';
import type { LoweringModel, UnplacedBuffer } from './step-list.js';
import type { StreamNeeds } from './streams.js';

/** How a device's memory is counted. */
export interface MemoryModel {
  /** Bytes that a buffer takes on the device as a whole; 0: it is used where it lies. */
  readonly heldBytes: (buffer: UnplacedBuffer) => number;
  /** Bytes of the pool's block for a request of so many; without it, the request. */
  readonly blockBytes?: ((bytes: number) => number) | undefined;
  /** Whether an input or a result has a block of its own; without it, all are in one with the arena. */
  readonly hasOwnBlock?: ((buffer: UnplacedBuffer) => boolean) | undefined;
  /** Bytes of host memory that a plan takes beside arrays and results; without it, none. */
  readonly hostPeakOf?: ((plan: Omit<DevicePlan, 'hostPeakBytes'>) => number) | undefined;
}

/** Estimates of times: what several devices share is chosen by them. */
export interface CostModel {
  /** Of a part of a step, from 0 to 1, that is alone on the device: its arithmetic and its memory traffic. */
  readonly secondsOf: (step: Step, part: number) => number;
  /** Bytes a second between a device and the host, or another device. */
  readonly busRate: number;
  /** Seconds of a phase on several devices beyond one device's, beside the work. */
  readonly phaseSeconds: number;
  /** Seconds from a phase of a loop to the next one, beside the work: they are queued one after the other. */
  readonly roundSeconds: number;
}

/** A product that can be computed panel by panel, beside its storing as a whole. */
export interface PanelChoice {
  readonly product: CallStep | KernelStep;
  /** Steps that read it, and what is made of it, in panels. */
  readonly followers: number;
  readonly tiles: number;
  /** Rows computed in all panels together, relative to those of the whole: neighbours may both need some. */
  readonly repeated: number;
  /** Bytes that all steps write and read of the values that pass in panels, and of the product. */
  readonly traffic: number;
  readonly byteLength: number;
  /** Of a kernel's result: bytes of other operands that its readers read once more for each panel but one. */
  readonly again: number;
}

/** Kernels of which some read what others make at neighbouring places, beside storing all of that. */
export interface NeighbourChoice {
  readonly kernels: readonly KernelNeighbours[];
  readonly tiles: number;
  /** Of the values together with what several kernels read, of their panels, and moved from panel to panel. */
  readonly byteLength: number;
  readonly panelByteLength: number;
  readonly carried: number;
}

export interface KernelNeighbours {
  readonly kernel: Kernel;
  /** Bytes that it reads and writes of values that pass in panels. */
  readonly read: number;
  readonly written: number;
}

/** When and in what size values of stencils pass through memory in panels. */
export interface NeighbourModel {
  /** Rising sizes of panels, of which the one is taken that is expected to take least time. */
  readonly byteLengths: readonly number[];
  /** Of values that are large enough. */
  readonly leastBytes: number;
  readonly costOf: (choice: NeighbourChoice) => NeighbourCost;
}

/** The time of a chain in panels, and why its values pass so; without a reason, they do not. */
export interface NeighbourCost {
  readonly seconds: number;
  readonly reason: string | undefined;
}

/** When and in what size products pass through memory in panels. */
export interface PanelModel {
  /** Of a product's panel: so many that it stays in a cache. */
  readonly bytesOf: (product: CallStep | KernelStep) => number;
  /** Whether operands of products that a kernel computes may pass in panels, too. */
  readonly ofOperands: () => boolean;
  /** Of products that are large enough. */
  readonly leastBytes: number;
  /** Why a product is computed in panels; `undefined`: it is not. */
  readonly choose: (choice: PanelChoice) => string | undefined;
  /** Of values that kernels make for kernels; without it, those are stored. */
  readonly neighbours?: NeighbourModel | undefined;
}

/** Properties of a device that plans depend on, beyond the plan's own buffers. */
export interface DeviceModel extends LoweringModel, MemoryModel {
  /** Bytes that a call uses besides its operands and its results. */
  readonly workspaceOf: (step: CallStep) => WorkspaceNeed;
  /** Bytes of pinned memory that the copies of each kind go through: what is of use, and the least. */
  readonly copies?: { readonly most: number; readonly least: number } | undefined;
  /** Whether a call may write its first result over its first operand (`CallRow.overwrites`); without it, none may. */
  readonly overwrites?: ((step: CallStep) => boolean) | undefined;
  /** Whether results in host memory are where steps wrote them; without it, all of a result is copied there. */
  readonly leavesResults?: boolean | undefined;
  /** How steps may run at a time; without it, they run one after the other. */
  readonly streams?: StreamNeeds | undefined;
  /**
   * Bytes in which it counts the steps of a loop that it decides on by itself; 0, or without it: it does not.
   */
  readonly loopRecordBytes?: (() => number) | undefined;
  /** Whether scans that are there as a whole go over memory once; without it, they read it twice. */
  readonly scansInOnePass?: boolean | undefined;
  /**
   * Whether a kernel is a map of so many elements that a scan can do where it reads or writes, and, of buffer `given`,
   * reads the element at its own place alone; with one result, or `most`. Without it, none is.
   */
  readonly isElementMap?:
    | ((kernel: Kernel, count: number, given?: number, most?: number) => boolean)
    | undefined;
  /** Whether routines compute single elements of such a map at any place; without it, stretches of neighbours. */
  readonly mapsAnywhere?: boolean | undefined;
  /**
   * Whether a kernel reduces so many rows of such a length, its buffer `given`, so that a scan can do it where it would write
   * them, with the same bits; without it, none does.
   */
  readonly foldsRows?: ((kernel: Kernel, given: number, rows: number, length: number) => boolean) | undefined;
  /** Whether a kernel can read its buffer block by block as it goes; without it, none can. */
  readonly readsOnce?: ((kernel: Kernel, buffer: number) => boolean) | undefined;
  /** Of a kind of devices of which several may share a compute. */
  readonly costs?: CostModel | undefined;
  /** Without it, products are stored as a whole where they fit. */
  readonly panels?: PanelModel | undefined;
  /** How kernels can be run in parts; without it, a job fits as a whole or not at all. */
  readonly sweeps?: SweepRules | undefined;
}

export interface SweepRules {
  readonly worksOf: (kernel: Kernel) => Works;
  /** Whether windows of a buffer will do: not of what stays on the device. */
  readonly canWindow: (buffer: UnplacedBuffer) => boolean;
  /** Whether large values may wait between sweeps: those of a GPU in host memory, those of the CPU in files. */
  readonly canSpill: boolean;
  /** Whether values wait only where nothing else fits: files are slower than most of what makes values. */
  readonly spillsLast?: boolean;
  /** Whether values wait, too, that could be made again, but by no steps that follow the tiles of a sweep. */
  readonly spillsAll?: boolean;
  /** Whether each step has a sweep by itself, and all large values wait: its tiles are as small as they can be. */
  readonly isApart?: boolean;
  /** Whether results can be read again while the job runs: not those that go to files. */
  readonly canReadBack: boolean;
  /** Windows of one buffer that are on the device at once: while one is computed, others are copied. */
  readonly slots: Readonly<Record<SweepWindows['direction'], number>>;
  /** Whether short rows of windows lie in slots twice their bytes apart: code takes strides and alignments as they come. */
  readonly packsRows?: boolean;
  /** Bytes of a tile that are copied while another is computed. */
  readonly tileBytes: number;
  /** Of a GPU, for the time that calls in blocks take; without it, what copies least is taken. */
  readonly multiprocessors?: number | undefined;
}

/** The plan with what it takes of the host's memory. */
export const withHostPeak = (model: MemoryModel, plan: Omit<DevicePlan, 'hostPeakBytes'>): DevicePlan => ({
  ...plan,
  hostPeakBytes: model.hostPeakOf?.(plan) ?? 0,
});

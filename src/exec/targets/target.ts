/**
 * Target: a kind of devices, with all that differs between kinds: the passes over its graphs, the properties that plans depend on (memory, costs, cuts), and the code of its programs. Nothing
 * outside this folder asks for a device's kind. `table.ts` has the targets.
 */
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { ProductTraits } from '../../fusion/passes/lower-contractions.js';
import type { Pass } from '../../fusion/passes/pipeline.js';
import type { ProductLibrary } from '../../graph/expr.js';
import type { KernelCode } from '../../graph/user-kernel.js';
import type { CallStep } from '../calls/call.js';
import type { KernelResources } from '../native/native-types.js';
import type { ProgramSpec } from '../native/program-types.js';
import type { DeviceModel } from '../plan/device-model.js';
import type { DevicePlan, KernelStep, PhaseStep } from '../plan/plan.js';
import type { Destination } from '../plan/plan-graph.js';
import type { Device } from './device.js';

/** Of a compute, what its programs depend on beside the plan. */
export interface EmitOptions {
  /** The most bytes on the device, and of the host. */
  readonly budget: number | undefined;
  readonly hostBudget: number | undefined;
  /** Whether the algorithms of products and the schedules of kernels are measured. */
  readonly tune: boolean;
}

/** A kernel as a step launches it. */
export interface LaunchedKernel extends KernelResources {
  readonly name: string;
  /** Of a block. */
  readonly threads: number;
  /** Threads that a multiprocessor runs at a time, of the most that it holds: 0 … 1. */
  readonly occupancy: number;
}

/** How a step runs on a device: in tiles or phases, as a whole, or as a whole in a compute that measures. */
export type StepRun = 'parts' | 'whole' | 'tuned';

export interface Target {
  /** The passes over its graphs. */
  readonly passes: readonly Pass[];
  /** Its matrix products, for the passes and for the operands that are stored. */
  readonly products: ProductTraits;
  /**
   * Whether the sums of a kernel can combine in the order that each has alone: those of others are computed apart. Without it, the
   * target splits such kernels itself.
   */
  readonly keepsOrder?: (kernel: Kernel) => boolean;
  /** Those that follow in plans which hold everything at once: no step is cut. */
  readonly wholePasses: readonly Pass[];
  /** Those of them that plans in tiles have, too, where the tiles fit. */
  readonly cutPasses: readonly Pass[];
  /**
   * Loads its libraries off this thread, once, those of products where there are such; without it, there are
   * none.
   */
  readonly probe?: (hasProducts: boolean) => Promise<void> | undefined;
  /** The libraries of products that are there. */
  readonly productLibraries: () => readonly ProductLibrary[];
  /** The forms of users' kernels that it runs. */
  readonly kernelCode: readonly KernelCode['kind'][];
  /** Why a device cannot be used; `undefined`: it can. */
  readonly problemOf: (device: Device) => string | undefined;
  /** The memory of a device in bytes; infinitely much where the device is not known. */
  readonly totalBytesOf: (device: Device) => number;
  /** Equal for devices whose kernels have the same schedules, and so the same bits. */
  readonly alikeKeyOf: (device: Device) => string;
  /** The properties that plans depend on. `destination`: where results are wanted. */
  readonly modelOf: (device: Device, destination: Destination) => DeviceModel;
  /** The program of a plan. */
  readonly emit: (
    plan: DevicePlan,
    device: Device,
    options: EmitOptions,
  ) => ProgramSpec | Promise<ProgramSpec>;
  /** The part of `explain()` that says how the algorithm of a tuned call is chosen, where there is a choice. */
  readonly explainTuning?: (step: CallStep, plan: DevicePlan, device: Device) => string | undefined;
  /**
   * The part of `explain()` that says how a kernel, or those of a call, go about it on a device, where that is a choice.
   */
  readonly explainSchedule?: (
    step: KernelStep | PhaseStep | CallStep,
    device: Device,
    run: StepRun,
  ) => string | undefined;
  /** For each graph of a plan's program that the device runs as one, how many steps it has. */
  readonly graphSizes: (plan: DevicePlan, device: Device) => readonly number[];
  /** The kernels of a step with what they take of the device, where there are such. */
  readonly resourcesOf?: (
    step: KernelStep | PhaseStep | CallStep,
    device: Device,
    run: StepRun,
  ) => Promise<readonly LaunchedKernel[]>;
  /** Measures what the times of kernels are predicted by, unless it is known: once in a process, or `again`. */
  readonly calibrate?: (kernels: readonly Kernel[], again?: boolean) => Promise<void>;
  /**
   * The least seconds of several runs of a step on memory of its own; `undefined`: it launches nothing, or its buffers do
   * not fit into the memory that is free.
   */
  readonly timeOf?: (step: KernelStep, device: Device) => Promise<number | undefined>;
  /** The source that a kernel is printed as, where it is. */
  readonly sourceOf?: (kernel: Kernel, device: Device, run: StepRun) => string;
}

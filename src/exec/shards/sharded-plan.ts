/**
 * ShardedPlan: what a compute on several devices will do, as plain data: phases, in each of which devices run
 * an ordinary plan over a share of the work; between phases, values lie in pieces on the devices that made
 * them, or in host memory.
 *
 * Made by `sharding.ts`, run by `sharded-run.ts`, told by `explain()` and `plan()`.
 */

import type { DevicePlan, Step } from '../plan/plan.js';
import { stepName } from '../plan/plan.js';

/** Bytes [first, last) of a buffer in the memory of a device, by its name. */
export interface Piece {
  readonly device: string;
  readonly first: number;
  readonly last: number;
}

export interface ShardDevice {
  readonly name: string;
  /** The most bytes that the compute may hold there. */
  readonly budget: number;
  /** Its part of the work, relative to the others'. */
  readonly weight: number;
}

export interface ShardedPlanBuffer {
  readonly label: string;
  readonly role: 'input' | 'output' | 'temporary';
  readonly byteLength: number;
  /** Of an input: the source of the graph that it is. */
  readonly source: number;
  /** Of what is made and needed after its phase: whether it waits in pieces on devices, or in host memory. */
  readonly home: 'devices' | 'host';
}

/** The work of one device in a phase. */
export interface DeviceRun {
  /** Position in `ShardedPlan.devices`. */
  readonly device: number;
  /** Its buffers have the numbers of `ShardedPlan.buffers`. */
  readonly plan: DevicePlan;
  /** The buffers of role input, and of role output, in order. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

export interface Phase {
  /** `sharded`: every device does its share. `whole`: one device does all of it. */
  readonly kind: 'sharded' | 'whole';
  readonly runs: readonly DeviceRun[];
  /**
   * Where devices take tiles as they become free: the number of parts of some tiles that they take. Each
   * run's plan has all the tiles then, in an order of its own.
   */
  readonly parts?: number;
  /** Buffers that nothing needs any more once the phase is done. */
  readonly drops: readonly number[];
}

export interface ShardedPlan {
  readonly devices: readonly string[];
  readonly buffers: readonly ShardedPlanBuffer[];
  readonly phases: readonly Phase[];
  /** For each output of the graph, its buffer; -1: it has no elements. */
  readonly outputs: readonly number[];
  /** For each device, an upper bound of the bytes that the compute holds there. */
  readonly peakBytes: readonly number[];
}

/** Host memory that values between phases wait in. */
export const waitingBytesOf = ({ buffers }: Pick<ShardedPlan, 'buffers'>): number =>
  buffers.reduce(
    (sum, { role, home, byteLength }) => (role === 'temporary' && home === 'host' ? sum + byteLength : sum),
    0,
  );

/** The last phase that reads each buffer. */
export const lastReadsOf = ({ phases }: ShardedPlan): Map<number, number> =>
  new Map(
    phases.flatMap(({ runs }, at) => runs.flatMap(({ inputs }) => inputs.map((b) => [b, at] as const))),
  );

/** The runs of a phase that have tiles of their own: of those that take the same ones, one. */
export const distinctRunsOf = ({ runs, parts }: Phase): readonly DeviceRun[] =>
  parts === undefined ? runs : runs.slice(0, 1);

/** The steps of a run, those inside sweeps too. */
export const stepsOf = (plan: DevicePlan): Step[] =>
  plan.steps.flatMap((step) => (step.kind === 'sweep' ? step.body.map((part) => part.step) : [step]));

const nameOf = (step: Step): string =>
  step.kind === 'finish' ? `combine of ${stepName(step)}` : stepName(step);

/** The kernels and calls of a phase, in order, each once. */
export const namesOf = ({ runs }: Phase): string[] => [
  ...new Set(runs.flatMap(({ plan }) => stepsOf(plan).map(nameOf))),
];

const tilesOf = (plan: DevicePlan): number =>
  plan.steps.reduce((sum, step) => sum + (step.kind === 'sweep' ? step.tiles : 1), 0);

/** A line for each phase: who does what. */
export function printShardedPlan(plan: ShardedPlan): string {
  const phases = plan.phases.map((phase, k) => {
    if (phase.parts !== undefined) {
      const devices = phase.runs.map((run) => plan.devices[run.device]!);
      return `phase ${k}: ${namesOf(phase).join(', ')}, ${tilesOf(phase.runs[0]!.plan)} tiles sharded to ${devices.join(', ')} as they become free`;
    }
    const who = phase.runs.map((run) => {
      const tiles = tilesOf(run.plan);
      return `${plan.devices[run.device]}${phase.kind === 'sharded' && tiles > 1 ? ` in ${tiles} tiles` : ''}`;
    });
    const how = phase.kind === 'sharded' ? 'sharded to' : 'as a whole on';
    return `phase ${k}: ${namesOf(phase).join(', ')}, ${how} ${who.join(', ')}`;
  });
  const peaks = plan.devices.map((device, d) => `${device} ${plan.peakBytes[d]} bytes`);
  return [...phases, `peak: ${peaks.join(', ')}`].join('\n');
}

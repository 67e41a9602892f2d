/**
 * The one placement: stages become a plan. Temporaries and the slots of sweeps lie in an arena by their
 * lifetimes; the peak is the arena and all that is held beside it. Called by all planners: `plan-graph.ts`,
 * `plan-streams.ts` and `plan-within.ts`.
 */
import { completed, type Slices } from '../../host/slices.js';
import { DEVICE_ALIGNMENT } from '../../shared/layout.js';
import { blockOf, type SizedSweep, type SlotBlock } from '../tiles/sweep-slots.js';
import { sweepStep } from '../tiles/sweep-tables.js';
import { type MemoryModel, withHostPeak } from './device-model.js';
import { type Arena, aligned, type Lifetime, placeBeside, placeInArenaInSlices } from './memory.js';
import type { DevicePlan, PlanBuffer, Step } from './plan.js';
import {
  type Lifetimes,
  lifetimesInSlices,
  lifetimesOf,
  type Stage,
  type Staged,
  type StagedBuffer,
} from './stages.js';

/** The sweeps of stages that have one, by position. */
export type Sweeps = readonly (SizedSweep | undefined)[];

/** Whether a stage has ended before another one begins, where several run at a time. */
export type Precedence = (one: number, other: number) => boolean;

/** Buffers between pauses: each takes some 0.5 µs. */
const BUFFERS_OF_SLICE = 1024;

/** The plan of stages whose sweeps are sized. Without an order, stages run one after the other. */
export const planOf = (...work: Parameters<typeof planOfInSlices>): DevicePlan =>
  completed(planOfInSlices(...work));

/** As `planOf`. */
export function* planOfInSlices(
  staged: Staged,
  model: MemoryModel,
  sweeps: Sweeps = [],
  isBefore?: Precedence,
): Slices<DevicePlan> {
  const { buffers, stages, outputKeys } = staged;
  const lifetimes = yield* lifetimesInSlices(stages);
  yield;
  const { offsets, slots, byteLength } = yield* place(staged, lifetimes, sweeps, isBefore);
  yield;
  const ofRole = (role: StagedBuffer['role']): StagedBuffer[] => buffers.filter((b) => b.role === role);
  const outputs = new Map(ofRole('output').map(({ key }, k) => [key, k]));
  const placed: PlanBuffer[] = [];
  for (const [b, { key, role, byteLength: bytes, windowed, part, readInBlocks }] of buffers.entries()) {
    if (b % BUFFERS_OF_SLICE === BUFFERS_OF_SLICE - 1) yield;
    placed.push({
      role,
      // A buffer that no stage uses has no memory.
      byteLength: role === 'temporary' && !lifetimes.has(b) ? 0 : bytes,
      offset: offsets.get(b) ?? 0,
      label: key,
      ...(windowed === undefined ? {} : { windowed }),
      ...(part === undefined ? {} : { part }),
      ...(readInBlocks === undefined ? {} : { readInBlocks }),
    });
  }
  yield;
  return withHostPeak(model, {
    buffers: placed,
    steps: stepsOf(stages, (at) => {
      const sweep = sweeps[at];
      return sweep === undefined ? (stages[at]!.steps ?? []) : [sweepStep(sweep, slots[at]!)];
    }),
    inputs: ofRole('input').map(({ source }) => source),
    outputs: outputKeys.map((key) => outputs.get(key) ?? -1),
    arenaByteLength: byteLength,
    peakBytes: peakOf(byteLength, buffers, model),
  });
}

interface Placed {
  readonly offsets: ReadonlyMap<number, number>;
  /** By stage, up to the last that has a sweep. */
  readonly slots: readonly (readonly (SlotBlock & { readonly offset: number })[])[];
  readonly byteLength: number;
}

/**
 * Places temporaries and slots in an arena. A sweep has a moment for each of its tasks, every other stage has
 * one.
 */
function* place(
  { buffers, stages }: Staged,
  lifetimes: Lifetimes,
  sweeps: Sweeps,
  isBefore?: Precedence,
): Slices<Placed> {
  const inArena = [...lifetimes.keys()].filter((b) => isInArena(buffers[b]!));
  const starts = [0];
  for (let at = 0; at < stages.length; at++) starts.push(starts[at]! + (sweeps[at]?.tasks.length ?? 1));
  const lifetimeOf = (b: number): Lifetime => {
    const users = lifetimes.get(b)!;
    const last = starts[users[users.length - 1]! + 1]! - 1;
    return { byteLength: buffers[b]!.byteLength, first: starts[users[0]!]!, last };
  };
  const blocks = inArena.map(lifetimeOf);
  sweeps.forEach((sweep, at) => {
    for (const block of sweep?.slots ?? []) blocks.push(blockOf(block, starts[at]!));
  });
  yield;
  const arena =
    isBefore === undefined
      ? yield* placeInArenaInSlices(blocks)
      : yield* placeInAnyOrder(
          inArena.map((b) => buffers[b]!.byteLength),
          inArena.map((b) => lifetimes.get(b)!),
          isBefore,
        );
  yield;
  let next = inArena.length;
  const slots = sweeps.map((sweep) =>
    (sweep?.slots ?? []).map((block) => ({ ...block, offset: arena.offsets[next++]! })),
  );
  const offsets = new Map(inArena.map((b, k) => [b, arena.offsets[k]!]));
  return { offsets, slots, byteLength: arena.byteLength };
}

export const isInArena = ({ role, windowed }: StagedBuffer): boolean =>
  role === 'temporary' && windowed !== true;

/** Buffers of stages that may run at a time lie beside each other. */
function placeInAnyOrder(
  bytes: readonly number[],
  users: readonly (readonly number[])[],
  isBefore: Precedence,
): Slices<Arena> {
  const kinds = new Map<string, number>();
  const usersOfKind: (readonly number[])[] = [];
  const kindOf = (stages: readonly number[]): number => {
    const name = stages.join();
    const known = kinds.get(name) ?? usersOfKind.push(stages) - 1;
    kinds.set(name, known);
    return known;
  };
  // Stages are queued in their order: one that ends before another stands before it.
  const endsBefore = (a: number, b: number): boolean => {
    const [ones, others] = [usersOfKind[a]!, usersOfKind[b]!];
    if (ones[ones.length - 1]! >= others[0]!) return false;
    return ones.every((one) => others.every((other) => isBefore(one, other)));
  };
  return placeBeside(bytes, users.map(kindOf), (a, b) => !endsBefore(a, b) && !endsBefore(b, a));
}

/** The steps of all stages; those of a loop's body in the loop. */
function stepsOf(stages: readonly Stage[], stepsAt: (at: number) => readonly Step[]): Step[] {
  const steps: Step[] = [];
  for (let at = 0, end = 0; at < stages.length; at = end) {
    const { loop } = stages[at]!;
    end = at + 1;
    if (loop === undefined) {
      for (const step of stepsAt(at)) steps.push(step);
    } else {
      while (stages[end]?.loop === loop) end++;
      const body = stages.slice(at, end).flatMap((_, k) => stepsAt(at + k));
      steps.push({ ...loop, body });
    }
  }
  return steps;
}

/**
 * Bytes that a run holds: the arena with the inputs and results that are in a block with it, and those in
 * blocks of their own.
 */
function peakOf(arena: number, buffers: readonly StagedBuffer[], model: MemoryModel): number {
  const { blockBytes = (bytes) => bytes } = model;
  let [together, apart] = [arena, 0];
  for (const buffer of buffers) {
    const bytes = heldBytes(buffer, model);
    if (model.hasOwnBlock?.(buffer) === true) apart += blockBytes(bytes);
    else together += aligned(bytes);
  }
  return blockBytes(together) + apart;
}

/** The bytes that a run holds beside the arena, of whatever size blocks are. */
export const heldOutside = (buffers: readonly StagedBuffer[], model: MemoryModel): number =>
  peakOf(0, buffers, { ...model, blockBytes: aligned });

/** Bytes of an input or a result that are on the device from the beginning to the end of a run. */
function heldBytes(buffer: StagedBuffer, model: MemoryModel): number {
  const { role, windowed, readInBlocks, part } = buffer;
  if ((role !== 'input' && role !== 'output') || readInBlocks === true) return 0;
  if (part !== undefined) return bytesOfPart(part);
  return windowed === true ? 0 : model.heldBytes(buffer);
}

/** Bytes of the memory of a part of a buffer, in which it is as aligned as in the whole. */
export const bytesOfPart = ([first, last]: readonly [first: number, last: number]): number =>
  last > first ? last - first + (first % DEVICE_ALIGNMENT) : 0;

/**
 * For each stage, what there is beside the slots of its sweep: buffers in the arena that live then, and what
 * is held outside.
 */
export function besideSlots({ buffers, stages }: Staged, model: MemoryModel): number[] {
  const held = heldOutside(buffers, model);
  const bytes = stages.map(() => held);
  for (const [b, users] of lifetimesOf(stages)) {
    if (!isInArena(buffers[b]!)) continue;
    for (let at = users[0]!; at <= users.at(-1)!; at++) bytes[at]! += aligned(buffers[b]!.byteLength);
  }
  return bytes;
}

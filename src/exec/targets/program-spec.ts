/**
 * The parts of a native program that are alike on every device: buffers, loops and ranges of tiles. Called by
 * `program-cpu.ts` and `program-cuda.ts`.
 */
import { completed, type Slices } from '../../host/slices.js';
import { RANGE_FIELDS } from '../../shared/layout.js';
import type { BufferSpec, LoopSpec } from '../native/native.js';
import type { DevicePlan, LoopStep, Step } from '../plan/plan.js';

export const bufferSpecs = (plan: DevicePlan): BufferSpec[] => completed(bufferSpecsInSlices(plan));

/** Buffers between pauses: each takes some 0.2 µs. */
const BUFFERS_OF_SLICE = 4096;

/** As `bufferSpecs`. */
export function* bufferSpecsInSlices({ buffers }: DevicePlan): Slices<BufferSpec[]> {
  const specs: BufferSpec[] = [];
  for (const { role, byteLength, offset, windowed, readInBlocks, part } of buffers)
    if (specs.push({ role, byteLength, offset, windowed, readInBlocks, part }) % BUFFERS_OF_SLICE === 0)
      yield;
  return specs;
}

/** The ranges of several launches that are one step, tile by tile. */
export function joinedRanges(tables: readonly Float64Array[]): Float64Array {
  if (tables.length === 1) return tables[0]!;
  const joined = new Float64Array(tables.length * tables[0]!.length);
  for (let at = 0; at < tables[0]!.length; at += RANGE_FIELDS)
    for (const [k, table] of tables.entries())
      joined.set(table.subarray(at, at + RANGE_FIELDS), at * tables.length + k * RANGE_FIELDS);
  return joined;
}

/** A loop is the same step on every device, but for its body. */
export function loopSpec(
  { kind, steps, condition, every, stepsAtOnce, states, body, skew }: LoopStep,
  specs: (step: Step) => LoopSpec['body'],
): LoopSpec {
  return { kind, steps, condition, every, stepsAtOnce, states, body: body.flatMap(specs), skew };
}

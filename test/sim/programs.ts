/**
 * The conformance programs with what runs of them on the simulator are held to: bits, memory, objects left
 * behind.
 */
import { expect } from 'vitest';
import type { Lazy } from '../../src/index.js';
import { compute } from '../../src/index.js';
import { PROGRAMS } from '../support/programs.js';
import { leftInTheEnd } from './leftovers.js';
import { describeSimulator } from './simulator.js';

export interface Case {
  readonly name: string;
  readonly outputs: readonly Lazy[];
}

export const CASES: readonly (readonly [string, Case])[] = PROGRAMS.map(({ name, build }) => [
  name,
  {
    name,
    get outputs() {
      return build();
    },
  },
]);

/** The outputs as bytes. */
export async function bitsOf(outputs: readonly Lazy[], device: string): Promise<Buffer[]> {
  const results = await compute(outputs, { device });
  return results.map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength));
}

/**
 * The same, once there is what runs keep for the next ones: the second may begin on another thread than the
 * first.
 */
export async function settledBitsOf(outputs: readonly Lazy[], device: string): Promise<Buffer[]> {
  const first = await bitsOf(outputs, device);
  await footprint();
  expect(await bitsOf(outputs, device)).toEqual(first);
  await footprint();
  return first;
}

/**
 * Objects that should not grow in number: memory of a device, events, programs of the compiler … Once nothing
 * of it is in use: a run that begins before makes events of its own. Pinned memory, of which the runtime says
 * what it keeps, may be given back.
 */
export async function footprint(ordinal = 0): Promise<Readonly<Record<string, number>>> {
  expect(await leftInTheEnd()).toEqual([]);
  const { devices, live } = describeSimulator();
  return { ...live, pinnedBytes: 0, inUse: devices[ordinal]!.inUse };
}

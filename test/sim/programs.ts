/** The conformance programs with what runs of them on the simulator are held to: bits, memory, objects left behind. */
import type { Lazy } from '../../src/index.js';
import { compute } from '../../src/index.js';
import { PROGRAMS } from '../support/programs.js';
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

/** What exists now that should not grow: memory of a device, events, programs of the compiler … */
export function footprint(ordinal = 0): Readonly<Record<string, number>> {
  const { devices, live } = describeSimulator();
  return { ...live, inUse: devices[ordinal]!.inUse };
}

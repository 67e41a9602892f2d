/**
 * Jobs sharded to several devices give the bits of one device, whatever their number, sizes and schedules.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, MemoryError, type NDArray, plan } from '../../src/index.js';
import { largeGraph } from '../support/large-graph.js';
import { setDevices, setSchedule } from './simulator.js';

// Of unequal memory, and some that do not reach each other.
setDevices(
  Array.from({ length: 8 }, (_, k) => ({ memory: 2 ** (28 - (k % 4)), unreachable: k % 3 === 1 ? [0] : [] })),
);

/** The largest budget with which devices take tiles as they become free, if there is one. */
function budgetForTiles(results: readonly Lazy[], devices: number): number | undefined {
  for (const memory of [2 ** 19, 2 ** 18, 2 ** 17, 2 ** 16]) {
    try {
      if (plan(results, { devices, memory }).phases.some(({ byTiles }) => byTiles)) return memory;
    } catch (error) {
      if (error instanceof MemoryError) return undefined;
      throw error;
    }
  }
  return undefined;
}

const bitsOf = ({ data }: NDArray): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

describe('large graphs on several devices', () => {
  it.each(
    Array.from(
      { length: Number(process.env.SHARDED_GRAPHS ?? 5) },
      (_, k) => k + Number(process.env.SHARDED_FIRST ?? 0),
    ),
  )('have the bits of one: seed %i', async (seed) => {
    const { results, steps } = largeGraph(seed);
    const whole = await compute(results, { device: 'cuda:0' });
    for (const devices of [1, 2, 3, 8]) {
      setSchedule({ timing: seed % 2 === 0 ? 'random' : 'late', seed: seed + devices });
      const budget = devices === 3 ? budgetForTiles(results, devices) : undefined;
      for (const options of [{}, ...(budget === undefined ? [] : [{ memory: budget }])]) {
        const parts = await compute(results, { devices, ...options });
        for (const [k, part] of parts.entries()) {
          const same = Buffer.compare(bitsOf(part), bitsOf(whole[k]!)) === 0;
          const how = `on ${devices}, ${JSON.stringify(options)}`;
          expect(same, `seed ${seed} ${how}: ${steps.join(', ')}, result ${k}`).toBe(true);
        }
      }
    }
  });
});

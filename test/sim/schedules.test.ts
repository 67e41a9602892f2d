/**
 * Whatever order the device does its work in, within what streams and events allow, a program gives the same
 * bits, races with nothing, leaves nothing behind and stays within the memory it was planned for.
 */
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/index.js';
import { bitsOf, CASES, footprint, settledBitsOf } from './programs.js';
import { describeSimulator, setSchedule, show, takeProblems } from './simulator.js';

const SCHEDULES = Number(process.env.WEFT_SIM_SCHEDULES ?? 50);
const TIMINGS = ['late', 'random', 'eager'] as const;

describe(`every program under ${SCHEDULES} schedules`, () => {
  it.each(CASES)('%s', async (_, { outputs }) => {
    setSchedule({ timing: 'late', seed: 0 });
    const first = await settledBitsOf(outputs, 'cuda');
    const left = await footprint();
    takeProblems();
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const timing = TIMINGS[seed % TIMINGS.length]!;
      setSchedule({ timing, seed });
      const bits = await bitsOf(outputs, 'cuda');
      const differing = bits.flatMap((bytes, i) => (bytes.equals(first[i]!) ? [] : [i]));
      const problems = takeProblems().map(show);
      expect({ timing, seed, differing, problems }).toEqual({ timing, seed, differing: [], problems: [] });
    }
    expect(await footprint()).toEqual(left);
  });
});

describe('the memory a program takes', () => {
  it.each(CASES)('is at most what its plan says: %s', async (_, { outputs }) => {
    await bitsOf(outputs, 'cuda');
    takeProblems();
    await bitsOf(outputs, 'cuda');
    const { peak } = describeSimulator().devices[0]!;
    expect(peak).toBeLessThanOrEqual(explain(outputs, { device: 'cuda' }).peakBytes);
  });
});

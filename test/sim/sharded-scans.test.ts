/** Scans on several devices: each does a share of the tiles, and the bits are those of one. */
import { describe, expect, it } from 'vitest';
import { compute } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';

describe('scans on several devices', () => {
  it.each([
    ['one row', [700_001], -1],
    ['rows', [300, 3000], 1],
    ['columns', [3000, 300], 0],
  ] as const)('have the bits of one: %s', async (_, shape, axis) => {
    const output = toLazy(randomValues('float32', shape, 5))
      .mul(2)
      .cumulativeSum(axis);
    const [one] = await compute([output], { device: 'cuda:0' });
    const [two] = await compute([output], { devices: 2 });
    const sharded = output.plan({ devices: 2 }).phases.filter(({ kind }) => kind === 'sharded');
    expect(sharded.some(({ steps }) => steps.some((name) => name.startsWith('scan')))).toBe(true);
    expect(two!.data).toEqual(one!.data);
  });
});

/** Bins on several devices: each gathers a share of the rows, and the bits are those of one. */
import { describe, expect, it } from 'vitest';
import { compute } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomIntegers, randomValues } from '../support/random.js';

describe('bins on several devices', () => {
  it('have the bits of one', async () => {
    const rows = 200_000;
    const keys = toLazy(randomIntegers('int32', [rows], 3, 0, 49));
    const output = toLazy(randomValues('float32', [rows], 5))
      .mul(2)
      .segmentSum(keys, 50);
    const [one] = await compute([output], { device: 'cuda:0' });
    const [two] = await compute([output], { devices: 2 });
    const sharded = output.plan({ devices: 2 }).phases.filter(({ kind }) => kind === 'sharded');
    expect(sharded.some(({ steps }) => steps.some((name) => name.startsWith('bins')))).toBe(true);
    expect(two!.data).toEqual(one!.data);
  });
});

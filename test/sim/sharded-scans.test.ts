/** Scans on several devices: each does a share of the tiles, and the bits are those of one. */
import { describe, expect, it } from 'vitest';
import { compute, lazy } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';

describe('a scan on one device', () => {
  it.each([
    ['a line', [300_001], 0],
    ['rows', [3, 16_384], 1],
    ['columns', [9000, 33], 0],
  ] as const)('goes over memory once, and has the bits of its tiles: %s', async (_, shape, axis) => {
    const x = toLazy(randomValues('float32', shape, 6));
    for (const output of [
      x.cumulativeSum(axis),
      x.cumulativeSum(axis, { reverse: true }),
      x.cumulativeLogsumexp(axis),
    ]) {
      const whole = output.plan({ device: 'cuda' });
      expect(String(whole).match(/scan\w*/g)).toEqual(['scan']);
      const memory = Math.ceil(0.8 * whole.peakBytes);
      expect(output.plan({ device: 'cuda', memory }).sweeps.length).toBeGreaterThan(0);
      const [one] = await compute([output], { device: 'cuda' });
      const [parts] = await compute([output], { device: 'cuda', memory });
      expect(parts!.data).toEqual(one!.data);
    }
  });

  it('passes on a NaN whose bits are all set as it is, as in tiles', async () => {
    const numbers = new BigUint64Array(60_000);
    numbers[5] = 0xffff_ffff_ffff_ffffn;
    const expected = numbers.slice().fill(numbers[5], 5);
    const output = lazy(new Float64Array(numbers.buffer)).cumulativeMax();
    const whole = output.plan({ device: 'cuda' });
    expect(String(whole).match(/scan\w*/g)).toEqual(['scan']);
    for (const memory of [whole.peakBytes, Math.ceil(0.8 * whole.peakBytes)]) {
      const [{ data }] = await compute([output], { device: 'cuda', memory });
      expect(new BigUint64Array(data.buffer, data.byteOffset, data.length)).toEqual(expected);
    }
  });
});

describe('scans on several devices', () => {
  it.each([
    ['one row', [700_001], -1],
    ['rows', [300, 3000], 1],
    ['rows of several tiles', [40, 16_384], 1],
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

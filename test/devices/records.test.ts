/** Records of what devices compute find every difference that matters, and none that does not. */
import { describe, expect, it } from 'vitest';
import { once } from '../../src/host/once.js';
import { type Lazy, lazy } from '../../src/index.js';
import { type Exactness, exactnessOf } from './exactness.js';
import { jobsOf } from './jobs.js';
import { arrayOf, compareOutputs, type DeviceRecord, type RecordedOutput, recordJob } from './recording.js';
import { compareRecords, describeComparison } from './summary.js';

const values = (...numbers: number[]): Lazy => lazy(Float32Array.from(numbers));

async function recorded(x: Lazy, exact: Exactness, absolute = 0): Promise<RecordedOutput> {
  const { outputs, error } = await recordJob({ name: '', outputs: [{ lazy: x, exact, absolute }] }, 'cpu');
  expect(error).toBeUndefined();
  return outputs[0]!;
}

describe('a recorded output', () => {
  it('gives its array back', async () => {
    const output = await recorded(values(1, 2.5, Number.NaN), 'everywhere');
    expect(arrayOf(output).data).toEqual(Float32Array.of(1, 2.5, Number.NaN));
  });

  it('differs by one bit if it has to be exact, and not by the bits of a NaN', async () => {
    const next = new Float32Array(Uint32Array.of(0x3f800001, 0xffc00001).buffer);
    const [a, b] = [
      await recorded(values(1, Number.NaN), 'everywhere'),
      await recorded(lazy(next), 'everywhere'),
    ];
    expect(compareOutputs(a, b, true)).toMatchObject({
      ulp: 1,
      wrong: expect.stringContaining('1 of 2 differ: [0]'),
    });
    const other = new Float32Array(Uint32Array.of(0x3f800000, 0xffc00001).buffer);
    expect(compareOutputs(a, await recorded(lazy(other), 'everywhere'), true)).toEqual({
      equal: true,
      ulp: 0,
    });
    const zeros = [
      await recorded(values(0), 'everywhere'),
      await recorded(values(-0), 'everywhere'),
    ] as const;
    expect(compareOutputs(...zeros, true).wrong).toContain('0 and -0');
  });

  it('may differ by its tolerance otherwise, and by no more', async () => {
    const a = await recorded(values(1, 100), 'nowhere', 0.5);
    expect(compareOutputs(a, await recorded(values(1.25, 100), 'nowhere', 0.5), true)).toMatchObject({
      equal: false,
    });
    expect(compareOutputs(a, await recorded(values(1.25, 100), 'nowhere', 0.5), true).wrong).toBeUndefined();
    expect(compareOutputs(a, await recorded(values(2, 100), 'nowhere', 0.5), true).wrong).toContain(
      '[0] 1 and 2',
    );
  });
});

it('holds a sum of floats to its bits on one kind of device, and to its tolerance on two', async () => {
  const [a, b] = [
    await recorded(values(1), 'on a kind', 0.5),
    await recorded(values(1.25), 'on a kind', 0.5),
  ];
  expect(compareOutputs(a, b, true).wrong).toContain('1 and 1.25');
  expect(compareOutputs(a, b, false).wrong).toBeUndefined();
});

describe('a graph', () => {
  const x = values(1, 2, 3);
  it.each([
    ['roots and quotients of floats', x.sqrt().divide(3), 'everywhere'],
    ['the least of floats', x.min(), 'everywhere'],
    ['sums of floats, which each kind has an order of', x.sum().sqrt().divide(3), 'on a kind'],
    ['what follows from a sum', x.mean().greater(2), 'on a kind'],
    ['casts, views and comparisons', x.flip(0).greater(2).astype('float16'), 'everywhere'],
    ['products of integers', lazy(Int32Array.of(3, 4)).square().sum(), 'everywhere'],
    ['a product of floats, which a sum may be contracted with', x.multiply(x).add(1), 'nowhere'],
    ['a function of a mathematics library', x.exp(), 'nowhere'],
    ['a variance', x.var(), 'nowhere'],
    ['what follows from it', x.exp().sum().greater(3), 'nowhere'],
  ] as const)('of %s has the same bits %3$s', (_, y, exact) => {
    expect(exactnessOf(y.expr)).toBe(exact);
  });
});

describe('two records', () => {
  const record = async (): Promise<DeviceRecord> => {
    const jobs = [];
    for (const job of jobsOf(20, 3)) jobs.push(await recordJob(job, 'cpu'));
    return { device: 'cpu', graphs: 20, seed: 3, jobs };
  };
  const recordOnce = once(record);

  it('of one device are equal, and most of their outputs have to be', async () => {
    const summary = compareRecords(await recordOnce(), await record());
    expect(summary.wrong).toEqual([]);
    expect(summary.near).toBe(0);
    expect(summary.exact).toBeGreaterThan(summary.outputs / 2);
    expect(summary.exact + summary.equalAnyway).toBe(summary.outputs);
    expect(describeComparison(summary).join()).toContain(`${summary.outputs} outputs`);
  });

  it('of which one fails, lacks or changes something are not', async () => {
    const a = await recordOnce();
    const [first, second, ...rest] = a.jobs;
    const broken = { ...a, jobs: [{ name: first!.name, outputs: [], error: 'lost' }, second!, ...rest] };
    expect(compareRecords(a, broken).wrong).toEqual([`${first!.name}: computed and lost`]);
    expect(compareRecords(a, { ...a, jobs: [second!, first!, ...rest] }).wrong).toHaveLength(2);
    expect(compareRecords(a, { ...a, jobs: a.jobs.slice(1) }).wrong).not.toEqual([]);
  });
});

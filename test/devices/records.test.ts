/** Records of what devices compute find every difference that matters, and none that does not. */
import { describe, expect, it } from 'vitest';
import { type Lazy, lazy } from '../../src/index.js';
import { isExactGraph } from './exactness.js';
import { jobsOf } from './jobs.js';
import { arrayOf, compareOutputs, type DeviceRecord, type RecordedOutput, recordJob } from './recording.js';
import { compareRecords, describeComparison } from './summary.js';

const values = (...numbers: number[]): Lazy => lazy(Float32Array.from(numbers));

async function recorded(x: Lazy, exact: boolean, absolute = 0): Promise<RecordedOutput> {
  const { outputs, error } = await recordJob({ name: '', outputs: [{ lazy: x, exact, absolute }] }, 'cpu');
  expect(error).toBeUndefined();
  return outputs[0]!;
}

describe('a recorded output', () => {
  it('gives its array back', async () => {
    const output = await recorded(values(1, 2.5, Number.NaN), true);
    expect(arrayOf(output).data).toEqual(Float32Array.of(1, 2.5, Number.NaN));
  });

  it('differs by one bit if it has to be exact, and not by the bits of a NaN', async () => {
    const next = new Float32Array(Uint32Array.of(0x3f800001, 0xffc00001).buffer);
    const [a, b] = [await recorded(values(1, Number.NaN), true), await recorded(lazy(next), true)];
    expect(compareOutputs(a, b)).toMatchObject({
      ulp: 1,
      wrong: expect.stringContaining('1 of 2 differ: [0]'),
    });
    const other = new Float32Array(Uint32Array.of(0x3f800000, 0xffc00001).buffer);
    expect(compareOutputs(a, await recorded(lazy(other), true))).toEqual({ equal: true, ulp: 0 });
    const zeros = [await recorded(values(0), true), await recorded(values(-0), true)] as const;
    expect(compareOutputs(...zeros).wrong).toContain('0 and -0');
  });

  it('may differ by its tolerance otherwise, and by no more', async () => {
    const a = await recorded(values(1, 100), false, 0.5);
    expect(compareOutputs(a, await recorded(values(1.25, 100), false, 0.5))).toMatchObject({ equal: false });
    expect(compareOutputs(a, await recorded(values(1.25, 100), false, 0.5)).wrong).toBeUndefined();
    expect(compareOutputs(a, await recorded(values(2, 100), false, 0.5)).wrong).toContain('[0] 1 and 2');
  });
});

describe('a graph', () => {
  const x = values(1, 2, 3);
  it.each([
    ['sums, roots and quotients of floats', x.sum().sqrt().divide(3), true],
    ['casts, views and comparisons', x.flip(0).greater(2).astype('float16'), true],
    ['products of integers', lazy(Int32Array.of(3, 4)).square().sum(), true],
    ['a product of floats, which a sum may be contracted with', x.multiply(x).add(1), false],
    ['a function of a mathematics library', x.exp(), false],
    ['a variance', x.var(), false],
    ['what follows from it', x.exp().sum().greater(3), false],
  ] as const)('of %s is exact on every device: %#', (_, y, exact) => {
    expect(isExactGraph(y.expr)).toBe(exact);
  });
});

describe('two records', () => {
  const record = async (): Promise<DeviceRecord> => {
    const jobs = [];
    for (const job of jobsOf(20, 3)) jobs.push(await recordJob(job, 'cpu'));
    return { device: 'cpu', graphs: 20, seed: 3, jobs };
  };
  it('of one device are equal, and most of their outputs have to be', async () => {
    const summary = compareRecords(await record(), await record());
    expect(summary.wrong).toEqual([]);
    expect(summary.near).toBe(0);
    expect(summary.exact).toBeGreaterThan(summary.outputs / 2);
    expect(summary.exact + summary.equalAnyway).toBe(summary.outputs);
    expect(describeComparison(summary).join()).toContain(`${summary.outputs} outputs`);
  });

  it('of which one fails, lacks or changes something are not', async () => {
    const a = await record();
    const [first, second, ...rest] = a.jobs;
    const broken = { ...a, jobs: [{ name: first!.name, outputs: [], error: 'lost' }, second!, ...rest] };
    expect(compareRecords(a, broken).wrong).toEqual([`${first!.name}: computed and lost`]);
    expect(compareRecords(a, { ...a, jobs: [second!, first!, ...rest] }).wrong).toHaveLength(2);
    expect(compareRecords(a, { ...a, jobs: a.jobs.slice(1) }).wrong).not.toEqual([]);
  });
});

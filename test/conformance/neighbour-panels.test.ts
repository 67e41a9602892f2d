/**
 * Values of stencils that pass through memory in panels: results have the bits of stages that are computed one after the
 * other, within any budget, beside other results, and those of sums over the elements.
 */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy, MemoryError, ndimage } from '../../src/index.js';
import { referenceOf } from '../support/api.js';
import { along, builtOf, NEIGHBOUR_PROGRAMS } from '../support/neighbour-programs.js';
import { numbers } from '../support/reduced-products.js';
import { mismatch } from '../support/ulp.js';

process.env.WEFT_PANEL_BYTES = '58982';
process.env.WEFT_POISON = '1';

const device = 'cpu';
/** Of three fifths of each row or plane, in such parts of the panels: the reference takes microseconds for an element. */
const PROGRAMS = Object.entries(NEIGHBOUR_PROGRAMS).map(([name, program]) => {
  const axis = Math.min(1, program.shape.length - 1);
  return [
    name,
    { ...program, shape: program.shape.with(axis, Math.ceil(0.6 * program.shape[axis]!)) },
  ] as const;
});
const inputOf = (shape: readonly number[], dtype: 'float32' | 'float64' | 'uint8'): Lazy =>
  dtype === 'uint8' ? numbers(shape, 3).abs().mul(100).astype('uint8') : numbers(shape, 3, dtype);
const computed = async (values: readonly Lazy[]): Promise<Lazy[]> =>
  (await compute(values, { device })).map((value) => lazy(value));
const inMemory = async (program: (typeof PROGRAMS)[number][1]): Promise<Lazy> =>
  (await computed([inputOf(program.shape, program.dtype as 'float32')]))[0]!;
const dataOf = async (values: readonly Lazy[], memory?: number): Promise<unknown[]> =>
  (await compute(values, { device, ...(memory === undefined ? {} : { memory }) })).map(({ data }) => data);

describe('stencils of stencils', () => {
  it.each(PROGRAMS)('have the bits of stages one after the other: %s', async (_, program) => {
    const x = await inMemory(program);
    const results = builtOf(program, x);
    const steps: Lazy[][] = [[x]];
    for (const stage of program.stages) steps.push(await computed(stage(...steps.at(-1)!)));
    const panels = results.map((one) => one.plan({ device }).sweeps.length);
    if (program.isWhole === true) expect(panels).toEqual(panels.map(() => 0));
    else expect(Math.max(...panels)).toBeGreaterThan(0);
    const wanted = await dataOf(steps.at(-1)!);
    expect(await dataOf(results)).toEqual(wanted);
    for (const [k, one] of results.entries()) expect(await dataOf([one])).toEqual([wanted[k]]);
  });

  it.each(PROGRAMS)('are those of the reference: %s', async (_, program) => {
    const results = builtOf(program, await inMemory(program));
    const tolerance = { ulp: 64, absolute: 1e-5 };
    const wanted = referenceOf(results);
    for (const [k, result] of (await compute(results, { device })).entries())
      expect(mismatch(result, wanted[k]!, tolerance)).toBeUndefined();
  });

  it.each(PROGRAMS)('have them within budgets, too: %s', async (_, program) => {
    const results = builtOf(program, await inMemory(program));
    const wanted = await dataOf(results);
    const peakBytes = Math.max(4096, results[0]!.plan({ device }).peakBytes);
    for (const part of [0.9, 0.5]) {
      const found = await dataOf(results, Math.ceil(part * peakBytes)).catch((error: unknown) => error);
      if (!(found instanceof MemoryError)) expect(found).toEqual(wanted);
    }
  });

  it.each(PROGRAMS)('have them beside values that are results: %s', async (_, program) => {
    const x = await inMemory(program);
    const results = builtOf(program, x);
    const [first] = program.stages[0]!(x);
    const beside = await dataOf([...results, first!]);
    expect(beside.slice(0, results.length)).toEqual(await dataOf(results));
  });
});

const windowed = (x: Lazy, axis: number, size: number): Lazy =>
  ndimage.uniformFilter(x, { size: along(x, axis, size) });

describe('at the edges', () => {
  it.each<[string, number[]]>([
    ['no rows', [0, 40]],
    ['no columns', [40, 0]],
    ['one row', [1, 99_000]],
    ['one column', [99_000, 1]],
  ])('filters of %s', async (_, shape) => {
    const built = windowed(windowed(numbers(shape, 1), 0, 3), 1, 3);
    const [result] = await compute([built], { device });
    expect(result!.shape).toEqual(shape);
    expect(mismatch(result!, referenceOf([built])[0]!, { ulp: 64, absolute: 1e-5 })).toBeUndefined();
  });

  it.each([15, 31])('windows of %i elements, more than there are rows', async (size) => {
    const x = numbers([9, 30_000], 2);
    const [first] = await computed([windowed(x, 0, size)]);
    expect(await dataOf([windowed(windowed(x, 0, size), 1, 5)])).toEqual(
      await dataOf([windowed(first!, 1, 5)]),
    );
  });
});

it('stores a value that is read again behind its sums', async () => {
  const x = numbers([600, 340], 5);
  const [blur] = await computed([windowed(x, 0, 5)]);
  const less = (y: Lazy): Lazy => y.mean(0).sub(y.slice(0));
  expect(await dataOf([less(windowed(x, 0, 5))])).toEqual(await dataOf([less(blur!)]));
});

/** Reductions of joins beside what else reads their parts: they have the bits that they have alone. */
import { describe, expect, it } from 'vitest';
import { compute, concat, type Lazy, stack, unstack } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { randomValues } from '../support/random.js';

const values = (dtype: 'float32' | 'float64' | 'complex64', ...shape: readonly number[]): Lazy =>
  toLazy(randomValues(dtype, shape, 7));

/** In turns, so that they are no slices that are computed alike. */
const inTurns = (x: Lazy, axis: number): Lazy[] =>
  unstack(x, axis).map((part, k) => (k % 2 === 0 ? part.sin() : part.mul(2).add(1)));

/** The result, and others. */
const PROGRAMS: Readonly<Record<string, () => readonly [Lazy, ...Lazy[]]>> = {
  'a sum of 46 parts beside one': () => {
    const x = values('float64', 46, 33, 1);
    const row = values('float64', 33, 1);
    const parts = unstack(x.mul(3)).map((part, k) => (k % 2 === 0 ? part.abs() : part.mul(row)));
    return [stack(parts).sum(), parts[42]!];
  },
  'variances of 37 complex parts beside one': () => {
    const row = values('complex64', 5, 1);
    const parts = unstack(values('complex64', 5, 37, 1).mul(3), 1).map((part, k) => part.mul(k + 1).add(row));
    return [concat(parts.map((part) => part.expandDims(0))).var(0), parts[21]!];
  },
  'a sum of maxima of 16 parts beside the rest of these': () => {
    const all = stack(inTurns(values('float32', 1000, 16, 5), 1), 1);
    const largest = all.max(1, { keepdims: true });
    return [largest.sum(0), all.sub(largest)];
  },
  'a mean of sums of 8 parts beside their centres': () => {
    const all = stack(inTurns(values('float32', 100, 8, 33), 1), 1);
    const sums = all.sum(1, { keepdims: true });
    return [sums.mean(), all.div(sums)];
  },
  'a sum of halves beside one of these': () => {
    const parts = inTurns(values('float32', 500, 38), 1);
    const halves = [parts.slice(0, 19), parts.slice(19)].map((half) => stack(half));
    return [concat(halves).sum(0), halves[0]!];
  },
  'sums of slices beside deviations of all': () => {
    const x = values('float64', 33, 46);
    const row = values('float64', 46);
    const sums = stack(unstack(x).map((part) => part.mul(row).add(row).sum()));
    return [sums, x.sub(x.mean(1, { keepdims: true }))];
  },
  'a sum of one part beside those of all': () => {
    const x = values('float32', 54, 17, 5);
    const row = x.flatten().slice([0, 17]).reshape(1, 17);
    const slices = unstack(x, 2);
    const parts = slices.map((part, k) => (k > 0 ? part.sub(slices[k - 1]!).mul(row) : part));
    const turned = parts.map((_, k) => parts[(7 * k) % 5]!);
    return [turned[2]!.sum(), stack(turned, 1).sum(1)];
  },
};

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'on %s',
  (device) => {
    it.each(Object.entries(PROGRAMS))('%s', async (_, program) => {
      for (const exact of [false, true]) {
        const results = program();
        const alone = await results[0].compute({ device, exact });
        const [beside] = await compute([...results], { device, exact });
        expect(beside!.data).toEqual(alone.data);
      }
    });
  },
);

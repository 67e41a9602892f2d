/** Reductions of what is taken by arrays of indices, with what is the same for every row beside it, on every backend. */
import { describe, expect, it } from 'vitest';
import type { Lazy } from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { generator, randomIntegers } from '../support/random.js';
import { sharedReferenceOf } from '../support/shared-reference.js';

const SIZES = [1, 2, 3, 5, 33, 200, 700] as const;
const OPS = ['multiply', 'add', 'subtract', 'maximum'] as const;
const REDUCTIONS = ['sum', 'max', 'argmin'] as const;

/** Small integers, whose sums are exact. */
const arrayOf = (shape: readonly number[], seed: number, below = 5): Lazy =>
  toLazy(randomIntegers('int32', shape, seed, below === 5 ? -4 : 0, below - 1));

/** Columns, rows or planes that are taken, with arrays that broadcast beside them, reduced along some axes. */
function jobOf(seed: number): Lazy {
  const next = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const shape = Array.from({ length: pick([2, 2, 3]) }, () => pick(SIZES.slice(0, 6)));
  const axis = Math.floor(next() * shape.length);
  const indices = arrayOf([pick(SIZES.slice(2))], seed + 1, shape[axis]);
  let x: Lazy = arrayOf(shape, seed + 2)
    .astype(pick(['float32', 'float64', 'int32']))
    .take(indices, axis);
  for (let k = 0; k < 2; k++) {
    const beside = x.shape.map((size) => (next() < 0.5 ? 1 : size));
    x = x[pick(OPS)](arrayOf(beside, seed + 3 + k));
  }
  return x[pick(REDUCTIONS)](Math.floor(next() * shape.length));
}

describe.each(backends())('reductions of taken elements on %s', (device) => {
  it('give what the reference gives', async () => {
    const count = isSimulated(device) ? 50 : 100;
    for (let seed = 0; seed < count; seed++) {
      const job = jobOf(100 * seed);
      if (job.expr.inputs[0]!.shape.reduce((size, n) => size * n, 1) > 100_000) continue;
      const [expected] = sharedReferenceOf(device, [job], `${seed}`);
      const [own] = device === 'reference' ? [expected] : await run(device, [job]);
      const valuesOf = ({ data }: { data: unknown }): Float64Array =>
        Float64Array.from(data as Int32Array, (value) => Number(value) + 0);
      const [found, wanted] = [valuesOf(own!), valuesOf(expected!)];
      expect(found, `seed ${seed}`).toEqual(wanted);
    }
  }, 120_000);
});

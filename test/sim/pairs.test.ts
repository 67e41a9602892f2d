/** Selections over all pairs: nothing is rounded, so that their partial results are few however long the rows are. */
import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy, placeholder, plan } from '../../src/index.js';
import { setDevices, show, takeProblems } from './simulator.js';

setDevices([{}]);

const distances = (x: Lazy, y: Lazy): Lazy => x.expandDims(1).sub(y.expandDims(0)).square().sum(2);
const points = (count: number, factor: number): Lazy =>
  lazy(Float32Array.from({ length: count * 3 }, (_, k) => ((k * factor) % 1009) / 1009)).reshape([count, 3]);

describe('the nearest of all pairs', () => {
  it('of a million points each is found in few bytes', () => {
    const many = distances(placeholder([10 ** 6, 3], 'float32'), placeholder([10 ** 6, 3], 'float32'));
    for (const result of [many.min(1), many.argmin(1), many.max(1)])
      expect(plan([result], { device: 'cuda' }).peakBytes).toBeLessThan(2 ** 27);
  });

  it('are those that the CPU finds, in rows longer than a chain of sums', async () => {
    const all = distances(points(300, 7919), points(5000, 31));
    const work = [all.min(1), all.argmin(1), all.max(0), all.argmax(0), all.less(0.25).any(1)];
    const wanted = await compute(work, { device: 'cpu' });
    const found = await compute(work, { device: 'cuda' });
    for (const [k, { data }] of wanted.entries()) {
      if (data instanceof Float32Array)
        expect(
          Array.from(found[k]!.data as Float32Array, (v, i) => Math.abs(v - data[i]!) < 1e-6),
        ).not.toContain(false);
    }
    const [min, argmin] = found;
    const values = await compute([all], { device: 'cuda' });
    const nearest = Array.from(
      argmin!.data as BigInt64Array,
      (j, i) => values[0]!.data[i * 5000 + Number(j)],
    );
    expect(nearest).toEqual(Array.from(min!.data as Float32Array));
    expect(takeProblems().map(show)).toEqual([]);
  });
});

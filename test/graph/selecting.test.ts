/** Selection by arrays of indices beside NumPy's values (`conformance/functions.test.ts`): kernels and errors. */
import { describe, expect, it } from 'vitest';
import { ArgumentError, arange, DTypeError, lazy, RangeArgumentError, ShapeError } from '../../src/index.js';

const x = lazy(Float32Array.from({ length: 60 }, (_, k) => k)).reshape([3, 4, 5]);
const rows = Int32Array.of(2, 0, -1);
const columns = Int32Array.of(1, 1, -4);

describe('slice by arrays of indices', () => {
  it('is one kernel with the arithmetic of its indices and with what follows', () => {
    const ids = lazy(rows);
    const jobs = [x.slice(ids, ids.mul(1)), x.slice(ids, [1, 3], columns), x.slice(null, [[0, 3]], 2)];
    for (const job of jobs) {
      const { steps } = job.exp().mul(2).explain({ device: 'cpu' });
      expect(steps).toHaveLength(1);
      expect(steps[0]!.bytesWritten).toBe(4 * job.size);
    }
  });

  it('puts joint axes where the selected ones were, or first', async () => {
    expect(x.slice(null, rows, columns).shape).toEqual([3, 3]);
    expect(x.slice(rows, null, columns).shape).toEqual([3, 4]);
    const taken = await x.slice(rows, '...', columns).compute();
    expect([...taken.data]).toEqual([41, 46, 51, 56, 1, 6, 11, 16, 41, 46, 51, 56]);
  });

  it('finds wrong indices by name: of lists at once, of arrays when they are computed', async () => {
    expect(() => x.slice(0, [[4]])).toThrow(/axis 1 of 4 elements: 4/);
    expect(() => x.slice([[3]], null, [[0]])).toThrow(RangeArgumentError);
    for (const job of [
      x.slice(0, Int32Array.of(4)),
      x.slice(rows, Int32Array.of(0, 0, 4)),
      x.slice(null, Int32Array.of(-5)),
    ])
      await expect(job.compute({ device: 'cpu' })).rejects.toThrow(
        /axis 1 of 4 elements: (4|-5)\n.*selecting\.test/,
      );
    const clipped = await x.slice(Int32Array.of(9), Int32Array.of(-9), 0, { mode: 'clip' }).compute();
    expect([...clipped.data]).toEqual([40]);
  });

  it('refuses fractions, indices that do not broadcast, too many selectors, and other modes', () => {
    expect(() => x.slice(new Float32Array(2))).toThrow(DTypeError);
    expect(() => x.slice([[0.5]])).toThrow(ArgumentError);
    expect(() => x.slice([1, 2, 3, 4])).toThrow(/Int32Array/);
    expect(() => x.slice(rows, Int32Array.of(0, 1))).toThrow(ShapeError);
    expect(() => x.slice(rows, rows, rows, rows)).toThrow(ShapeError);
    expect(() => x.slice(rows, { mode: 'near' } as never)).toThrow(ArgumentError);
    expect(() => x.slice(rows, { modes: 'clip' } as never)).toThrow(ArgumentError);
    expect(() => lazy(new Float32Array(0)).slice(rows)).toThrow(ShapeError);
  });

  it('has the bits of the whole within a budget', async () => {
    const table = arange(200_000, 'float32').reshape([1000, 200]);
    const at = arange(100_000, 'int64').mul(7919).remainder(1000);
    const chosen = table.slice(at, at.remainder(200)).sqrt();
    const [whole, tiled] = [await chosen.compute(), await chosen.compute({ memory: '2 MiB' })];
    expect(Buffer.from(tiled.data.buffer).equals(Buffer.from(whole.data.buffer))).toBe(true);
  });
});

/** Gradients and bins beside NumPy's values (`conformance/functions.test.ts`): shapes, kernels and errors. */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  DTypeError,
  digitize,
  gradient,
  lazy,
  RangeArgumentError,
  ShapeError,
} from '../../src/index.js';

const table = arange(12, { dtype: 'float32' }).square().reshape([3, 4]);
const complex = lazy([1, 2, 3]).astype('complex64');

describe('gradient', () => {
  it('is exact for parabolas with ends of second order, also at uneven places', async () => {
    const at = Float64Array.from([-3, -1, -0.5, 2, 2.25, 7]);
    const parabola = lazy(at).square().mul(3).sub(lazy(at));
    const slope = await parabola.gradient(at, { edgeOrder: 2 }).compute();
    for (const [k, place] of at.entries()) expect(slope.data[k]).toBeCloseTo(6 * place - 1, 12);
  });

  it('takes a distance, a number or an array of no axes', async () => {
    const wanted = [...(await gradient(table, null, { axis: 1 }).mul(4).compute()).data];
    expect([...(await table.gradient(0.25, { axis: -1 }).compute()).data]).toEqual(wanted);
    const distance = lazy(Float32Array.of(0.25)).sum();
    const slope = await table.gradient(distance, { axis: 1 }).compute();
    expect([slope.dtype, ...slope.data]).toEqual(['float32', ...wanted]);
  });

  it('is one kernel with what is done with it', () => {
    const heights = lazy(new Float32Array(600)).reshape([20, 30]);
    const [north, east] = [heights.gradient(0.5, { axis: 0 }), heights.gradient(0.5, { axis: 1 })];
    expect(north.square().add(east.square()).sqrt().explain({ device: 'cpu' }).steps).toHaveLength(1);
  });

  it('has the bits of the whole within a budget', async () => {
    const job = arange(200_000, { dtype: 'float32' }).sin().gradient(0.1, { edgeOrder: 2 });
    const whole = await job.compute();
    const tiled = await job.compute({ memory: '128 KiB' });
    expect(Buffer.from(tiled.data.buffer).equals(Buffer.from(whole.data.buffer))).toBe(true);
  });

  it('keeps axes without elements beside its own', async () => {
    expect((await table.slice([0, 0]).gradient(1, { axis: 1 }).compute()).shape).toEqual([0, 4]);
  });

  it('refuses what has no derivative', () => {
    expect(() => table.gradient()).toThrow(ArgumentError);
    expect(() => table.gradient(1, { axis: 2 })).toThrow(ShapeError);
    expect(() => table.gradient(lazy([1, 2]), { axis: 1 })).toThrow(ShapeError);
    expect(() => table.gradient(table, { axis: 1 })).toThrow(ShapeError);
    expect(() => table.gradient(1, { axis: 0, edgeOrder: 3 as 2 })).toThrow(RangeArgumentError);
    expect(() => lazy([1]).gradient()).toThrow(ShapeError);
    expect(() => lazy([1, 2]).gradient(1, { edgeOrder: 2 })).toThrow(ShapeError);
    expect(() => lazy(1).gradient()).toThrow(ShapeError);
  });
});

describe('digitize', () => {
  const x = lazy(Float32Array.from([0.5, 1, 2.5, 9, Number.NaN]));

  it('takes edges in either order', async () => {
    const up = await digitize(x, lazy([1, 2, 4])).compute();
    expect([up.dtype, ...up.data]).toEqual(['int64', 0n, 1n, 2n, 3n, 3n]);
    const down = await x.digitize(lazy([4, 2, 1]), { right: true }).compute();
    expect([...down.data]).toEqual([3n, 3n, 1n, 0n, 0n]);
  });

  it('refuses edges of two axes, and complex arrays', () => {
    expect(() => x.digitize(table)).toThrow(ShapeError);
    expect(() => x.digitize(complex)).toThrow(DTypeError);
    expect(() => complex.digitize(lazy([1, 2]))).toThrow(DTypeError);
  });
});

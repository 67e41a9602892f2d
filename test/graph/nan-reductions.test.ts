/** Reductions without NaNs: kernels and errors. That values are right on every backend is in `conformance`. */
import { describe, expect, it } from 'vitest';
import { ArgumentError, DTypeError, lazy, ShapeError } from '../../src/index.js';

const x = lazy(new Float32Array(6000), { shape: [5, 1200] });

describe('reductions without NaNs', () => {
  it.each(['nanSum', 'nanMean', 'nanMax', 'nanVar', 'nanStd', 'nanArgmin'] as const)(
    '%s is one kernel',
    (name) => {
      const { steps, bytesWritten } = x.mul(2)[name](1).explain({ device: 'cpu' });
      expect(steps).toHaveLength(1);
      expect(bytesWritten).toBe(name === 'nanArgmin' ? 40 : 20);
    },
  );

  it('names the function that was called in errors', () => {
    expect(() => x.nanVar({ axis: 3 })).toThrow('[nanVar] expected an axis from -2 to 1: 3');
    expect(() => x.astype('int8').nanMean({ axis: 3 })).toThrow('[nanMean] expected an axis');
    expect(() => x.nanMean({ dtype: 'int8' })).toThrow(DTypeError);
    expect(() => x.nanMax({ ddof: 1 } as never)).toThrow(ArgumentError);
    expect(() => lazy(new Float32Array(0)).nanMin()).toThrow(ShapeError);
    expect(() => x.astype('complex64').nanMax()).toThrow('[nanMax] expected real numbers');
    expect(() => x.nanArgmax([0, 1] as never)).toThrow('[nanArgmax] expected one axis or none');
  });
});

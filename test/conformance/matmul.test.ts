/** matmul of vectors, matrices and batches for every dtype, on every backend, against NumPy. */
import { describe, expect, it, vi } from 'vitest';
import { DTYPES } from '../../src/graph/dtype.js';
import { failuresOf, type Prepared, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { fixtures } from '../support/fixtures.js';
import { fromScalars } from '../support/host.js';
import { mismatch } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const { cases, read } = fixtures('matmul');

describe.each(backends())('matmul on %s', (device) => {
  it.each(DTYPES.filter((d) => d !== 'bool'))(
    'of %s gives what NumPy gives for every form',
    async (dtype) => {
      const prepared = cases
        .filter((c) => c.dtype === dtype)
        .map(
          (c): Prepared => ({
            label: `[${c.a.shape}] @ [${c.b.shape}]`,
            build: () => toLazy(read(c.a)).matmul(toLazy(read(c.b))),
            check: (actual) => mismatch(actual, read(c.output), { ulp: 0, absolute: c.bound, anyZero: true }),
          }),
        );
      expect(await failuresOf(device, prepared)).toEqual([]);
    },
  );

  it('of transposed and sliced operands gives what matmul of their copies gives', async () => {
    const prepared = cases
      .filter((c) => c.a.shape.length === 2 && c.b.shape.length === 2)
      .map(
        (c): Prepared => ({
          label: `${c.dtype} ([${c.b.shape}]ᵀ @ [${c.a.shape}]ᵀ)ᵀ`,
          build: () => {
            const [a, b] = [toLazy(read(c.a)), toLazy(read(c.b))];
            return b.transpose().matmul(a.flip(0).transpose()).transpose().flip(0);
          },
          check: (actual) => mismatch(actual, read(c.output), { ulp: 0, absolute: c.bound, anyZero: true }),
        }),
      );
    expect(await failuresOf(device, prepared)).toEqual([]);
  });
});

describe('matmul', () => {
  const ones = (...shape: number[]) =>
    toLazy(fromScalars('float32', shape, Array<number>(shape.reduce((a, b) => a * b, 1)).fill(1)));
  it('refuses shapes that do not meet', () => {
    expect(() => ones(3, 4).matmul(ones(5, 2))).toThrow(RangeError);
    expect(() => ones(2, 3, 4).matmul(ones(3, 4, 5))).toThrow(RangeError);
    expect(() => ones().matmul(ones(3))).toThrow(RangeError);
  });
});

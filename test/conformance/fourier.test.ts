/** Fourier transforms on every backend against NumPy, and the same bits however many there are. */
import { describe, expect, it, vi } from 'vitest';
import { compute, fft, type Lazy, lazy } from '../../src/index.js';
import { failuresOf, type Prepared, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import { type CompositeCase, fixtures } from '../support/fixtures.js';
import { randomValues } from '../support/random.js';
import { mismatch } from '../support/ulp.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const { cases, read } = fixtures('fourier');
const calls = [...new Set(cases.map((c) => c.call))];
const functions = fft as unknown as Readonly<Record<string, (...args: readonly unknown[]) => Lazy>>;

function build(c: CompositeCase): Lazy {
  const isArray = (x: unknown): x is { array: number } => typeof x === 'object' && x !== null && 'array' in x;
  return functions[c.call]!(...c.args.map((x) => (isArray(x) ? toLazy(read(c.inputs[x.array]!)) : x)));
}

describe.each(backends())('Fourier transforms on %s', (device) => {
  it.each(calls)('%s gives what NumPy gives', async (call) => {
    const prepared = cases
      .filter((c) => c.call === call)
      .map(
        (c): Prepared => ({
          label: `${call}(${JSON.stringify(c.args)}) of ${c.inputs.map((x) => `${x.dtype} [${x.shape}]`)}`,
          build: () => build(c),
          check: (actual) => mismatch(actual, read(c.output), { ulp: 0, absolute: c.bound, anyZero: true }),
        }),
      );
    expect(await failuresOf(device, prepared)).toEqual([]);
  });
});

const onDevices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

describe.each(onDevices)('the bits of transforms on %s', (device) => {
  it.each([5, 16, 61, 97, 128, 180, 256, 1000, 1009])('of %i elements are those of each alone', async (n) => {
    const rows = 37;
    const real = toLazy(randomValues('float32', [rows, n], 1, -2, 2));
    const complex = toLazy(randomValues('complex64', [rows, n], 2, -2, 2));
    const wide = toLazy(randomValues('complex128', [rows, n], 3, -2, 2));
    const makers: readonly ((row: (x: Lazy) => Lazy) => Lazy)[] = [
      (row) => fft.fft(row(complex)),
      (row) => fft.ifft(row(wide)),
      (row) => fft.rfft(row(real)),
      (row) => fft.irfft(row(complex), { n: 2 * n - 2 }),
      (row) => fft.irfft(row(complex), { n: 2 * n - 1 }),
    ];
    for (const make of makers) {
      const whole = make((x) => x);
      const alone = [0, 17, 36].map((k) => make((x) => x.slice(k)));
      const [all, ...ones] = await compute([whole, ...alone], { device });
      for (const [k, row] of [0, 17, 36].entries())
        expect((await lazy(all!).slice(row).compute()).data).toEqual(ones[k]!.data);
    }
  });
});

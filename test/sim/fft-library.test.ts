/**
 * Fourier transforms of the CPU by an FFT library: the stand-in for FFTW, or the library that `WEFT_TEST_FFT` names. The
 * stand-in ends the process where it is used otherwise than FFTW allows.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cpuInfo } from '../../src/exec/native/native.js';
import { compute, fft, type Lazy, lazy } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';
import { SIM_FOLDER } from './environment.js';

/** The addon itself: which library is used `native-addon.ts` says once, from the environment. */
const addon = createRequire(import.meta.url)(
  resolve(import.meta.dirname, '../../build/Release/weft.node'),
) as { configureCpu(settings: { poison: boolean; fft: string }): void };
const useLibrary = (library: string): void => addon.configureCpu({ poison: true, fft: library });

const LIBRARY = process.env.WEFT_TEST_FFT ?? join(SIM_FOLDER, 'libweft-sim-fftw.so');
const isReal = process.env.WEFT_TEST_FFT !== undefined;
const why = isReal ? ' (skipped: for the stand-in alone)' : '';
const folder = mkdtempSync(join(tmpdir(), 'weft-fft-'));
const device = 'cpu';

beforeAll(() => useLibrary(LIBRARY));
afterAll(() => {
  useLibrary('none');
  rmSync(folder, { recursive: true });
});

/** Transforms of every kind, of rows of `n` elements. */
function transformsOf(n: number): Readonly<Record<string, Lazy>> {
  const single = toLazy(randomValues('complex64', [5, n], n));
  const double = toLazy(randomValues('complex128', [5, n], n + 1));
  return {
    fft: fft.fft(single),
    ifft: fft.ifft(double),
    rfft: fft.rfft(single.real()),
    'rfft in float64': fft.rfft(double.real()),
    irfft: fft.irfft(double, { n: 2 * n - 2 }),
    'irfft of odd length': fft.irfft(single, { n }),
    'along the first axis': fft.fft(single.transpose(), { axis: 0 }),
    'along two axes': fft.fft2(double),
  };
}

it.each([160, 192, 320])('transforms rows of %i elements as exactly as Weft does', async (n) => {
  const transforms = transformsOf(n);
  const outputs = Object.values(transforms);
  const byLibrary = await compute(outputs, { device });
  useLibrary('none');
  const own = await compute(
    outputs.map((output) => output.mul(1)),
    { device },
  );
  useLibrary(LIBRARY);
  for (const [k, name] of Object.keys(transforms).entries()) {
    const [a, b] = [byLibrary[k]!, own[k]!].map(({ data }) => Array.from(data as Float64Array));
    const eps = own[k]!.dtype.endsWith('64') && own[k]!.dtype !== 'complex64' ? 2 ** -50 : 2 ** -21;
    const error = Math.max(...a!.map((value, i) => Math.abs(value - b![i]!)));
    expect({ name, isExact: error <= eps * Math.max(...b!.map(Math.abs)) }).toEqual({ name, isExact: true });
  }
});

it('names the library, and the lengths that it leaves to Weft', () => {
  const textOf = (n: number, other = n): string =>
    String(fft.fft2(toLazy(randomValues('complex64', [other, n], 1))).explain({ device }));
  const { name, path } = cpuInfo().fft.float32!;
  expect(textOf(256)).toContain(`256 by 256, complex, by ${name} (${path});`);
  expect(textOf(256, 64)).toContain(`by ${name} (${path}) and Weft's own;`);
  // Short, of a large prime factor, of no factors of two, and so long that threads share it.
  for (const n of [64, 2 * 67, 1000, 16_384]) expect(textOf(n, 1)).toContain(`1 of ${n}, complex\n`);
});

it.each([160, 256])('gives each of the rows of %i elements the bits that it has alone', async (n) => {
  const rows = toLazy(randomValues('complex64', [37, n], 3));
  const makers: readonly ((x: Lazy) => Lazy)[] = [
    (x) => fft.fft(x),
    (x) => fft.irfft(x),
    (x) => fft.rfft(x.real()),
  ];
  for (const make of makers) {
    const outputs = [make(rows), ...[0, 17, 36].map((k) => make(rows.slice(k)))];
    const [whole, ...alone] = await compute(outputs, { device });
    for (const [k, row] of [0, 17, 36].entries())
      expect(alone[k]!.data).toEqual((await lazy(whole!).slice(row).compute()).data);
  }
  const along = fft.fft(rows.transpose().mul(1), { axis: 0 }).transpose();
  const [whole, across] = await compute([fft.fft(rows.mul(1)), along], { device });
  expect(across!.data).toEqual(whole!.data);
});

it('gives the same bits in tiles, and over its operand', async () => {
  const output = fft.fft(toLazy(randomValues('complex64', [2100, 256], 5)).mul(2)).abs();
  const whole = output.plan({ device });
  expect(String(whole)).toContain('fft');
  const memory = Math.ceil(0.5 * whole.peakBytes);
  expect(output.plan({ device, memory }).sweeps.length).toBeGreaterThan(0);
  const [one] = await compute([output], { device });
  const [parts] = await compute([output], { device, memory });
  expect(parts!.data).toEqual(one!.data);
});

it.skipIf(isReal)(`says that the library makes no plan${why}`, async () => {
  process.env.WEFT_SIM_FFTW_REFUSED = '384';
  try {
    const refused = fft.fft(toLazy(randomValues('complex64', [3, 384], 1)));
    await expect(refused.compute({ device })).rejects.toThrow(/FFTW makes no plan of 384 elements/);
  } finally {
    delete process.env.WEFT_SIM_FFTW_REFUSED;
  }
});

it.skipIf(isReal)(`is named by a file, beside which that of the other precision is${why}`, () => {
  const { name, path } = cpuInfo().fft.float32!;
  expect(path).toBe(LIBRARY);
  expect(() => useLibrary('/nowhere/libfftw3.so')).toThrow(/WEFT_FFT.*nowhere/);
  expect(() => useLibrary(join(SIM_FOLDER, 'libweft-sim-core.so'))).toThrow(/has no fftw_plan_dft_1d/);
  for (const file of ['libfftw3.so', 'libfftw3f.so']) copyFileSync(path, join(folder, file));
  for (const file of ['libfftw3.so', 'libfftw3f.so']) {
    useLibrary(join(folder, file));
    const { float32, float64 } = cpuInfo().fft;
    expect([float32, float64]).toEqual([
      { name, path: join(folder, 'libfftw3f.so') },
      { name, path: join(folder, 'libfftw3.so') },
    ]);
  }
  useLibrary(LIBRARY);
});

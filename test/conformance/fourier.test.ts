/** Fourier transforms on every backend against NumPy, and the same bits however many there are. */
import { describe, expect, it, vi } from 'vitest';
import { compute, fft, type Lazy, lazy } from '../../src/index.js';
import { failuresOf, referenceOf, run, toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { casesByCall, prepareCases } from '../support/composite-cases.js';
import { generator, randomValues } from '../support/random.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const cases = casesByCall('fourier');

const functions = fft as unknown as Readonly<Record<string, (...args: readonly unknown[]) => Lazy>>;

describe.each(backends())('Fourier transforms on %s', (device) => {
  it.each([...cases.keys()])('%s gives what NumPy gives', async (call) => {
    expect(
      await failuresOf(
        device,
        prepareCases(cases.get(call)!, (name) => functions[name]!),
      ),
    ).toEqual([]);
  });
});

const onDevices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

/** cuFFT has other kernels, and other bits, for other numbers of transforms: those of a unit are the same. */
const ofOwn = onDevices.filter((device) => device === 'cpu' || isSimulated(device));

describe.each(ofOwn)('the bits of transforms on %s', (device) => {
  it.each([5, 16, 21, 61, 97, 128, 134, 180, 256, 1000, 1009])(
    'of %i elements are those of each alone',
    async (n) => {
      // A simulated GPU takes a second for 37 of the long ones.
      const rows = isSimulated(device) && n >= 1000 ? 19 : 37;
      const some = [0, (rows - 3) / 2, rows - 1];
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
        const alone = some.map((k) => make((x) => x.slice(k)));
        const [all, ...ones] = await compute([whole, ...alone], { device });
        for (const [k, row] of some.entries())
          expect((await lazy(all!).slice(row).compute()).data).toEqual(ones[k]!.data);
      }
    },
  );
});

describe.each(onDevices.filter((device) => !isSimulated(device)))(
  'transforms within budgets on %s',
  (device) => {
    const rows = toLazy(randomValues('complex64', [330, 4096], 5));
    it.each([
      ['rows', fft.fft(rows.mul(2)).abs()],
      ['real rows', fft.irfft(fft.rfft(rows.real()).mul(3)).add(1)],
      ['columns', fft.fft(rows.reshape([20, 16_896, 4]), { axis: 1 }).imag()],
    ])('have the bits of the whole: %s', async (_, output) => {
      const memory = Math.ceil(0.5 * output.plan({ device }).peakBytes);
      expect(output.plan({ device, memory }).sweeps.length).toBeGreaterThan(0);
      const [whole] = await compute([output], { device });
      const [parts] = await compute([output], { device, memory });
      expect(parts!.data).toEqual(whole!.data);
    });
  },
);

/** A step of a random program: of any array to another. */
const STEPS: readonly ((x: Lazy, pick: (n: number) => number) => Lazy)[] = [
  (x, pick) => fft.fft(x, { axis: pick(x.ndim), norm: 'ortho' }),
  (x, pick) => fft.ifft(x, { axis: pick(x.ndim), n: 1 + pick(20), norm: 'ortho' }),
  (x) => fft.fftn(x, { norm: 'ortho' }),
  (x, pick) => fft.irfft(x, { axis: pick(x.ndim), n: 2 + pick(15) }),
  (x, pick) => fft.rfftn(x.real(), { axes: [pick(x.ndim)], norm: 'forward' }),
  (x) => fft.fftshift(x),
  (x) => x.mul(0.5).add(1),
  (x) => x.conj().mul(x.imag()),
  (x) => x.transpose(),
  (x) => x.slice([null, null, -1]),
  (x, pick) => x.sub(x.mean(pick(x.ndim), { keepdims: true })),
  (x, pick) => (x.ndim > 1 ? x.sum(pick(x.ndim)).expandDims(0) : x),
];

describe.each(onDevices)('random programs with transforms on %s', (device) => {
  it.each(Array.from({ length: isSimulated(device) ? 15 : 60 }, (_, seed) => seed))(
    'number %i gives what the reference gives',
    async (seed) => {
      const next = generator(seed);
      const pick = (n: number): number => Math.floor(next() * n);
      const shape = Array.from({ length: 1 + pick(3) }, () => 1 + pick(12));
      let x = toLazy(randomValues(pick(2) === 0 ? 'complex128' : 'float64', shape, seed, -1, 1));
      const outputs: Lazy[] = [];
      for (let step = 0; step < 6; step++) {
        x = STEPS[pick(STEPS.length)]!(x, pick);
        if (pick(3) === 0) outputs.push(x);
      }
      outputs.push(x);
      const expected = referenceOf(outputs);
      const actual = await run(device, outputs);
      for (const [k, own] of actual.entries()) {
        const [a, b] = [own, expected[k]!].map(({ data }) => Array.from(data as Float64Array));
        const most = Math.max(1, ...b!.map(Math.abs));
        expect(own.shape).toEqual(expected[k]!.shape);
        expect(a!.every((value, i) => Math.abs(value - b![i]!) <= 1e-12 * most)).toBe(true);
      }
    },
  );
});

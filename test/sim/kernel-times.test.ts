/** The times of kernels that `explain({ measure: true })` tells, on the simulated GPU: of all kinds of launches. */
import { describe, expect, it } from 'vitest';
import {
  elementwise,
  elementwiseCuda,
  fft,
  iterate,
  type Lazy,
  lazy,
  linalg,
  nonzero,
  placeholder,
  sparse,
} from '../../src/index.js';
import { setDevices } from './simulator.js';

setDevices([{ memory: 64 * 2 ** 20 }]);

const given = (...shape: number[]): Lazy<'float32'> => placeholder(shape, 'float32');

/** Expressions of placeholders and arrays, whose kernels have elements, rows, slots, tiles, gathers, steps. */
const JOBS: Readonly<Record<string, () => Lazy>> = {
  'a map': () => given(1000).mul(2),
  'a map of one element': () => given().add(1),
  'a reduction in slots': () => given(100_000).sum(),
  'rows of several phases': () => given(64, 100).softmax(1),
  'phases that are split': () => given(2, 40_000).softmax(1),
  'a transposed tile': () => given(64, 64).add(given(64, 64).T),
  pairs: () =>
    given(64, 1, 8)
      .sub(given(1, 64, 8))
      .square()
      .sum(2),
  'a gather': () => given(1000).take(lazy(new Int32Array(50))),
  'a number that comes with each run': () => given(100).mul(Math.PI),
};

describe('explain({ measure: true })', () => {
  for (const [name, build] of Object.entries(JOBS)) {
    it(`times ${name}`, async () => {
      const { steps } = await build().explain({ device: 'cuda', measure: true });
      const kernels = steps.filter(({ kind }) => kind === 'kernel');
      expect(kernels).not.toHaveLength(0);
      for (const { predictedMs, measuredMs } of kernels) {
        expect(predictedMs).toBeGreaterThan(0);
        expect(measuredMs).toBeGreaterThan(0);
      }
    });
  }

  it('times calls on samples of their own: of libraries, and of several launches', async () => {
    const stored = {
      data: given(90),
      indices: placeholder([90], 'int32'),
      indptr: placeholder([8], 'int32'),
    };
    const jobs: Readonly<Record<string, Lazy>> = {
      matmul: given(30, 20).matmul(given(20, 10)),
      sort: given(5000).sort(),
      scan: given(5000).cumulativeSum(),
      sparseProduct: sparse.csr(stored, [7, 20]).matmul(given(20)),
      cholesky: linalg.cholesky(given(40, 40)),
      fft: fft.fft(placeholder([4, 64], 'complex64')),
      compact: nonzero(placeholder([100], 'bool'))[0]!,
    };
    for (const [call, job] of Object.entries(jobs)) {
      const { steps } = await job.explain({ device: 'cuda', measure: true });
      const step = steps.find(({ name }) => name === call);
      expect(step?.whyNotTimed, call).toBeUndefined();
      expect(step!.predictedMs, call).toBeGreaterThan(0);
      expect(step!.measuredMs, call).toBeGreaterThan(0);
    }
  });

  it('times the steps of a loop once', async () => {
    const looped = iterate(4, given(32, 32), (x) => x.add(x.T));
    const { steps } = await looped.explain({ device: 'cuda', measure: true });
    const inLoop = steps.filter(({ loop }) => loop !== undefined);
    expect(inLoop).not.toHaveLength(0);
    for (const { measuredMs } of inLoop) expect(measuredMs).toBeGreaterThan(0);
  });

  it('times no loop whose end the elements decide: of zeros, these never end', async () => {
    const toOne = elementwise((t: number) => {
      while (t !== 1) t = t % 2 === 0 ? t / 2 : 3 * t + 1;
      return t;
    });
    const toOneInCuda = elementwiseCuda(
      'int32 x',
      'int32 y',
      'y = x; while (y != 1) y = y % 2 ? 3 * y + 1 : y / 2',
    );
    for (const ends of [toOne, toOneInCuda]) {
      const { steps } = await ends(placeholder([1000], 'int32')).explain({ device: 'cuda', measure: true });
      expect(steps.map(({ measuredMs }) => measuredMs)).toEqual([undefined]);
      expect(steps[0]!.predictedMs).toBeGreaterThan(0);
    }
  });

  it('times no kernel that launches nothing, or whose buffers do not fit', async () => {
    const { steps: none } = await given(0, 5).add(1).explain({ device: 'cuda', measure: true });
    expect(none.every(({ measuredMs }) => measuredMs === undefined)).toBe(true);
    const large = placeholder([2 ** 24], 'float64').add(1);
    const { steps } = await large.explain({ device: 'cuda', measure: true });
    expect(steps).toMatchObject([{ name: 'map_add' }]);
    expect(steps[0]!.measuredMs).toBeUndefined();
    expect(steps[0]!.predictedMs).toBeGreaterThan(0);
  });
});

/**
 * Fourier transforms by cuFFT: in tiles and on several devices with the bits of the whole, repeated as CUDA graphs, on
 * memory that is left as it was, and whichever call of the library fails.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { exprOf, Lazy } from '../../src/api/lazy.js';
import type { Expr } from '../../src/graph/expr.js';
import { halfSpectra, inSteps } from '../../src/graph/fourier-steps.js';
import { compile, compute, fft, placeholder } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const device = 'cuda';
const rows = toLazy(randomValues('complex64', [600, 1024], 5));
const real = toLazy(randomValues('float32', [600, 1024], 6));
const JOBS: readonly (readonly [name: string, output: Lazy, call: string])[] = [
  ['rows', fft.fft(rows.mul(2)).abs(), 'fft'],
  ['real rows', fft.rfft(real), 'rfft'],
  ['rows back', fft.irfft(fft.rfft(real).mul(3)).add(1), 'irfft'],
];

afterEach(() => setFaults([]));

describe('transforms on a simulated GPU', () => {
  it.each(JOBS)('have the bits of the whole in tiles: %s', async (_, output, call) => {
    const whole = output.plan({ device });
    const memory = Math.ceil(0.7 * whole.peakBytes);
    expect(String(whole)).toContain(call);
    expect(output.plan({ device, memory }).sweeps.length).toBeGreaterThan(0);
    const [one] = await compute([output], { device });
    const [parts] = await compute([output], { device, memory });
    expect(parts!.data).toEqual(one!.data);
  });

  it.each(JOBS)('have the bits of one device on two: %s', async (_, output) => {
    const [one] = await compute([output], { device: 'cuda:0' });
    const [two] = await compute([output], { devices: 2 });
    expect(two!.data).toEqual(one!.data);
  });

  it('run on two streams where their calls share no work area', async () => {
    const waitsFor = async (dtype: 'float32' | 'float64'): Promise<number> => {
      const output = fft.rfft(toLazy(randomValues(dtype, [260, 1024], 11)));
      setFaults([]);
      await output.compute({ device });
      const { cufftXtExec, cuStreamWaitEvent = 0 } = describeSimulator().counts;
      expect(cufftXtExec).toBe(2);
      return cuStreamWaitEvent;
    };
    // One for the other stream, one for the job's.
    expect((await waitsFor('float32')) - (await waitsFor('float64'))).toBe(2);
    expect(takeProblems()).toEqual([]);
  });

  it('write over what nobody else reads, where the budget asks for it', async () => {
    const twice = fft.fft(rows.mul(2)).abs();
    const whole = twice.plan({ device });
    const memory = whole.peakBytes - rows.size * 8;
    const plan = twice.plan({ device, memory });
    expect(plan.sweeps).toEqual([]);
    expect(plan.peakBytes).toBeLessThanOrEqual(memory);
    const [one] = await compute([twice], { device });
    const [own] = await compute([twice], { device, memory });
    expect(own!.data).toEqual(one!.data);
  });

  it('leave what they read as it was', async () => {
    const spectrum = toLazy(randomValues('complex64', [4, 9], 7));
    const [signal, same] = await compute([fft.irfft(spectrum), spectrum.mul(1)], { device });
    expect(same!.data).toEqual((await spectrum.mul(1).compute({ device: 'cpu' })).data);
    expect(signal!.shape).toEqual([4, 16]);
  });

  it('of a sequence in steps have the bits of the whole in tiles', async () => {
    const n = 2 ** 19;
    const x = toLazy(randomValues('complex64', [n], 12, -1, 1));
    const rowsOf = (rows: Expr): Expr => exprOf('fft', fft.fft(new Lazy(rows)));
    const steps = new Lazy(inSteps(exprOf('fft', x.reshape(1, n)), [512, 1024], false, rowsOf)).reshape(n);
    const memory = 2.1 * 8 * n;
    const whole = steps.plan({ device });
    const plan = steps.plan({ device, memory });
    expect(whole.peakBytes).toBeGreaterThan(3 * 8 * n);
    expect(plan.sweeps.length).toBe(3);
    expect(plan.peakBytes).toBeLessThanOrEqual(memory);
    const [one] = await compute([steps], { device });
    const [parts] = await compute([steps], { device, memory });
    expect(parts!.data).toEqual(one!.data);
    const [own] = await compute([fft.fft(x)], { device: 'cpu' });
    const [a, b] = [one!, own!].map(({ data }) => Array.from(data as Float32Array));
    const most = b!.reduce((sum, value) => Math.max(sum, Math.abs(value)), 0);
    expect(a!.every((value, i) => Math.abs(value - b![i]!) <= 1e-6 * most)).toBe(true);
  });

  it('of a real sequence of even length have the bits of the whole in tiles', async () => {
    const n = 2 ** 17;
    const x = toLazy(randomValues('float32', [n], 13, -1, 1));
    const rowsOf = (rows: Expr): Expr => exprOf('fft', fft.fft(new Lazy(rows)));
    const half = (z: Expr): Expr => inSteps(z, [256, 256], false, rowsOf);
    const output = new Lazy(halfSpectra(exprOf('rfft', x.reshape(1, n)), half));
    const whole = output.plan({ device });
    const memory = Math.ceil(0.85 * whole.peakBytes);
    const plan = output.plan({ device, memory });
    expect(plan.sweeps.length).toBeGreaterThan(0);
    expect(plan.peakBytes).toBeLessThanOrEqual(memory);
    const [one] = await compute([output], { device });
    const [parts] = await compute([output], { device, memory });
    expect(parts!.data).toEqual(one!.data);
  });

  it('of 2^28 elements are planned within three eighths of their bytes', () => {
    const output = fft.fft(placeholder([2 ** 28], { dtype: 'complex64' }));
    const memory = 2 ** 31 * 0.4;
    expect(output.plan({ device, memory }).peakBytes).toBeLessThanOrEqual(memory);
  });

  it('are the same again and again', async () => {
    const step = compile((x: Lazy) => fft.irfft(fft.rfft(x).mul(2)).add(1), { device });
    const x = toLazy(randomValues('float32', [6, 60], 8));
    const first = await step(x);
    for (let run = 0; run < 6; run++) expect((await step(x)).data).toEqual(first.data);
  });

  it('of up to some 500 MB are parts of graphs', () => {
    const graphsOf = (rows: number, n: number): readonly number[] =>
      fft.rfft(placeholder([rows, n], { dtype: 'float32' })).explain({ device }).graphs;
    expect(graphsOf(2 ** 14, 4096)).toEqual([1]);
    expect(graphsOf(2 ** 15, 4096)).toEqual([]);
    // Which take two passes over memory.
    expect(graphsOf(2 ** 11, 2 ** 15)).toEqual([]);
  });

  it('keep 64 plans, and those of what runs again', async () => {
    const step = compile((x: Lazy) => fft.fft(x).mul(2), { device });
    const x = toLazy(randomValues('complex64', [2, 23], 10));
    const first = await step(x);
    for (let run = 0; run < 3; run++) await step(x);
    const lengths = Array.from({ length: 100 }, (_, k) => 130 + k);
    for (const n of lengths) await fft.fft(toLazy(randomValues('complex64', [1, n], n))).compute({ device });
    expect(describeSimulator().live.cufftPlans).toBeLessThan(80);
    expect((await step(x)).data).toEqual(first.data);
    expect(takeProblems()).toEqual([]);
  });

  it('make each plan of a call once, however large their tables are', async () => {
    const output = fft.rfft(toLazy(randomValues('float64', [3, 264_000], 14)));
    setFaults([{ call: 'cufftXtExec', nth: 1, status: 5 }]);
    await expect(output.compute({ device })).rejects.toThrow('cufftXtExec');
    // Of two rows, and of the last one.
    expect(describeSimulator().counts.cufftXtMakePlanMany).toBe(2);
  });

  it.each(['cufftCreate', 'cufftXtMakePlanMany', 'cufftSetStream', 'cufftSetWorkArea', 'cufftXtExec'])(
    'fail with an error where %s does, and run afterwards',
    async (call) => {
      // Of a length of its own, so that its plan is not there yet.
      const n = 70 + call.length;
      const output = fft.fft(toLazy(randomValues('complex64', [3, n], 9)));
      setFaults([{ call, nth: 1, status: 5 }]);
      await expect(output.compute({ device })).rejects.toThrow(call);
      expect(describeSimulator().faultsMet).toBe(1);
      setFaults([]);
      expect((await output.compute({ device })).shape).toEqual([3, n]);
      expect(takeProblems()).toEqual([]);
    },
  );
});

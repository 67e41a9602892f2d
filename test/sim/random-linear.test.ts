/**
 * Random programs of dense linear algebra on simulated GPUs: within budgets and on one to four devices with the same bits, near what
 * the CPU gives, and whichever call of a library fails.
 */
import { expect, it, vi } from 'vitest';
import { compute } from '../../src/api/compute.js';
import type { Lazy } from '../../src/api/lazy.js';
import { MemoryError } from '../../src/host/errors.js';
import { type LinearProgram, programSeeds, randomLinearProgram } from '../support/random-linear.js';
import { CANNOT_FAIL, checkOutcome, outcomeOf } from './fault-outcomes.js';
import { describeSimulator, setDevices, setFaults, takeProblems } from './simulator.js';

vi.setConfig({ testTimeout: 3_600_000 });
setDevices(Array.from({ length: 4 }, () => ({ memory: 2 ** 27 })));

const MOST = { float32: 2e-3, float64: 1e-11, complex128: 1e-11 } as const;
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
const about = (seed: number, { outputs, dtype, steps }: LinearProgram): string =>
  `seed ${seed}: ${dtype} ${outputs[0].shape.join(' x ')}, ${steps.join(', ')}`;

/** The largest difference of two arrays beside their largest number. */
function apart(given: ArrayLike<number>, wanted: ArrayLike<number>): number {
  let [most, worst] = [1, 0];
  for (let k = 0; k < wanted.length; k++) {
    most = Math.max(most, Math.abs(wanted[k]!));
    worst = Math.max(worst, Math.abs(given[k]! - wanted[k]!));
    if (Number.isNaN(given[k]!)) return Number.NaN;
  }
  return worst / most;
}

/** Of kernels of Weft's own for 3 rows, and of libraries for 130. */
const [SMALL, LARGE] = [2, 24];
const programOf = (seed: number): LinearProgram =>
  randomLinearProgram(seed, { steps: 3, count: 6, rows: [3, 130] });

it('programs of linear algebra have the same bits in any budget, on one to four devices, near the CPU', async () => {
  let found = 0;
  for (const seed of programSeeds([SMALL, LARGE])) {
    const program = programOf(seed);
    const outputs: readonly Lazy[] = program.outputs;
    const ofCpu = await compute(outputs, { device: 'cpu' });
    const whole = await compute(outputs, { device: 'cuda:0' });
    for (const [k, { data }] of whole.entries()) {
      const difference = apart(data as Float64Array, ofCpu[k]!.data as Float64Array);
      expect(difference, `${about(seed, program)}, result ${k}`).toBeLessThan(MOST[program.dtype]);
    }
    const memory = Math.ceil(0.7 * outputs[0]!.plan({ device: 'cuda:0' }).peakBytes);
    const ways = [{ device: 'cuda:0', memory }, { devices: 2 }, { devices: 4 }];
    for (const options of ways) {
      const results = await compute(outputs, options).catch((error: unknown) => {
        expect(error, about(seed, program)).toBeInstanceOf(MemoryError);
      });
      found += results === undefined ? 0 : 1;
      for (const [k, { data }] of (results ?? []).entries())
        expect(bytesOf(data), `${about(seed, program)}, result ${k}, ${JSON.stringify(options)}`).toEqual(
          bytesOf(whole[k]!.data),
        );
    }
    expect(takeProblems(), about(seed, program)).toEqual([]);
  }
  expect(found).toBeGreaterThan(2);
});

it('programs of linear algebra fail with an error where a call of a library does, and run afterwards', async () => {
  let failed = 0;
  for (const seed of programSeeds([LARGE])) {
    const program = programOf(seed);
    const { outputs } = program;
    const wanted = (await compute(outputs, { device: 'cuda:0' })).map(({ data }) => bytesOf(data));
    setFaults([]);
    await compute(outputs, { device: 'cuda:0' });
    const calls = Object.entries(describeSimulator().counts).filter(
      ([call]) => /^(cublas|cusolver)/.test(call) && !CANNOT_FAIL.has(call),
    );
    for (const [call, count] of calls) {
      for (const nth of new Set([1, Math.ceil(count / 2), count])) {
        const fault = { call, nth, status: call.startsWith('cublas') ? 13 : 6 };
        setFaults([fault]);
        failed++;
        const outcome = await outcomeOf(outputs, 'cuda:0');
        setFaults([]);
        checkOutcome(outcome, wanted, fault);
      }
      expect(await outcomeOf(outputs, 'cuda:0'), `${about(seed, program)}, after ${call}`).toEqual(wanted);
    }
    expect(takeProblems(), about(seed, program)).toEqual([]);
  }
  expect(failed).toBeGreaterThan(5);
});

/** The predicted times of calls on the CPU, held to measured ones, and what they follow. */
import { describe, expect, it } from 'vitest';
import { apart, callsAnew } from '../../bench/cost-predictions.js';
import { median } from '../../bench/statistics.js';
import { unmeasuredRates } from '../../src/codegen/cpu/tape-rates.js';
import { CALLS } from '../../src/exec/calls/table.js';
import { CALL_RATES } from '../../src/exec/targets/cpu-call-rates.js';
import { secondsOfCall } from '../../src/exec/targets/cpu-call-seconds.js';
import { CPU } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { fft, type Lazy, linalg, placeholder } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';

const FOLDER = 'bench/results/2026-11-27-cpu-calls';

/** The seconds of the calls of an expression. */
function secondsOf(x: Lazy, threads = 1): number {
  const { plan } = planOnDevice(canonicalize([x.expr]), CPU, { destination: 'device' });
  return plan.steps.reduce(
    (sum, step) => sum + (step.kind === 'call' ? secondsOfCall(step, unmeasuredRates(threads)) : 0),
    0,
  );
}

describe('the times of calls on the CPU', () => {
  it.each(['fitted', 'held-out'])(
    'are predicted within 1.25 at the median, of all but few within 2: %s',
    (file) => {
      const ratios = callsAnew(`${FOLDER}/${file}.jsonl`, CPU, { isWanted: (_, k) => k % 2 === 1 }).map(
        apart,
      );
      expect(ratios.length).toBeGreaterThan(120);
      expect(median(ratios)).toBeLessThan(1.25);
      expect(ratios.filter((ratio) => ratio > 2).length / ratios.length).toBeLessThan(0.03);
    },
  );

  it('have rates of calls that there are', () => {
    expect(Object.keys(CALL_RATES).filter((call) => !(call in CALLS))).toEqual([]);
    for (const rates of Object.values(CALL_RATES).flatMap((all) => Object.values(all)))
      expect(rates.every((rate) => rate >= 0) && Math.max(...rates) > 0).toBe(true);
  });

  it('grow with sizes, and shrink with threads where there is enough to share', () => {
    const sort = (n: number): Lazy => placeholder([n], 'float32').sort();
    expect(secondsOf(sort(10_000))).toBeGreaterThan(5 * secondsOf(sort(1000)));
    expect(secondsOf(sort(1_000_000), 4)).toBeLessThan(0.5 * secondsOf(sort(1_000_000)));
    expect(secondsOf(sort(100), 4)).toBeCloseTo(secondsOf(sort(100)), 7);
  });

  it('of dtypes and routines without rates of their own are those of others', () => {
    const matrix = (dtype: 'float64' | 'bfloat16', n = 100): Lazy => placeholder([n, n], dtype);
    expect(secondsOf(matrix('bfloat16').sort(1))).toBeGreaterThan(0);
    expect(secondsOf(linalg.cholesky(matrix('float64')))).toBeGreaterThan(1e-5);
    // A prime length takes more than its neighbour.
    const transform = (n: number): number => secondsOf(fft.fft(placeholder([50, n], 'complex128')));
    expect(transform(1021)).toBeGreaterThan(1.5 * transform(1024));
  });
});

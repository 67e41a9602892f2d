/** What the data are like that calls are timed on by themselves. */
import { expect, it } from 'vitest';
import { callCase } from '../../bench/call-corpus.js';
import { callsOf } from '../../bench/cost-predictions.js';
import type { CallSamples } from '../../src/exec/calls/call-samples.js';
import { callRow } from '../../src/exec/calls/table.js';
import { CPU, gpuOf } from '../../src/exec/targets/device.js';

const GPU = gpuOf('sm_90');

// Random bits would be in the first bin or in the last one, where additions wait for one another.
it.each([
  ['binSums', GPU, 'float32', 2_000_000],
  ['bins', GPU, 'float64', 5000],
  ['binSums', CPU, 'float32', 2_000_000],
] as const)('integers that a map keeps in range are like the keys of %s', (name, device, dtype, size) => {
  const calls = callsOf(callCase('sparse rows', dtype, String(size))!, device);
  const steps = calls.flatMap(({ step }) => (step.call === name ? [step] : []));
  expect(steps.length).toBeGreaterThan(0);
  for (const step of steps) {
    const { operands } = callRow(step).samples(step) as CallSamples;
    const integers = operands.filter((operand) => operand.dtype === 'int32' && operand.shape === undefined);
    expect(integers.length).toBeGreaterThan(0);
    for (const { sample } of integers) expect(sample).toEqual({ kind: 'below', below: size / 8 });
  }
});

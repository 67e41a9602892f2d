/** The tapes of a program of the CPU: one for all steps whose kernels are alike. */
import { expect, it } from 'vitest';
import { CPU } from '../../src/exec/targets/device.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { type Lazy, lazy } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';

const LAYERS = 30;

/** Products, biases and normalised rows, one after the other. */
function layers(): Lazy {
  const weights = lazy(
    Float32Array.from({ length: 64 }, (_, k) => Math.sin(k)),
    { shape: [8, 8] },
  );
  let x = lazy(
    Float32Array.from({ length: 160 }, (_, k) => Math.cos(k)),
    { shape: [20, 8] },
  );
  for (let k = 0; k < LAYERS; k++) {
    x = x
      .matmul(weights)
      .add(lazy(new Float32Array(8).fill(k)))
      .tanh();
    x = x.sub(x.mean(1, { keepdims: true })).div(x.std(1, { keepdims: true }));
  }
  return x;
}

it('steps of one kernel share a tape', () => {
  const { steps } = cpuProgram(planOnDevice(canonicalize([layers().expr]), CPU).plan);
  const tapes = steps.flatMap((step) => (step.kind === 'tape' ? [step.tape] : []));
  expect(tapes.length).toBeGreaterThanOrEqual(LAYERS);
  expect(new Set(tapes).size).toBeLessThanOrEqual(4);
});

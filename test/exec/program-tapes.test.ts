/** The tapes of a program of the CPU: each is there once, for all steps whose kernels are alike. */
import { describe, expect, it } from 'vitest';
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

describe('the tapes of a program', () => {
  it('are shared by the layers of a network', async () => {
    const made = layers();
    const { steps, tapes } = cpuProgram(planOnDevice(canonicalize([made.expr]), CPU).plan);
    const used = steps.flatMap((step) => (step.kind === 'tape' ? [step.tape] : []));
    expect(used.length).toBeGreaterThanOrEqual(LAYERS);
    // All layers but the last one, whose result is an output.
    expect(tapes!.length).toBeLessThanOrEqual(4);
    expect(new Set(used).size).toBe(tapes!.length);
    expect((await made.compute({ device: 'cpu' })).shape).toEqual([20, 8]);
  });

  it('are one each for kernels of other constants', () => {
    const x = lazy(new Float32Array(1000));
    const results = [0.5, 1.5, 2.5].map((factor, k) =>
      lazy(new Float32Array(1000 + k))
        .mul(factor)
        .sin(),
    );
    const canonical = canonicalize([...results, x.sum()].map(({ expr }) => expr));
    const { steps, tapes } = cpuProgram(planOnDevice(canonical, CPU).plan);
    expect(steps).toHaveLength(4);
    expect(tapes).toHaveLength(4);
  });
});

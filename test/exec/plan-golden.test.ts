/**
 * Plans for the CPU as text (golden files): results in files within a budget, and loops. Those of GPUs are in
 * `test/sim/plan-golden.test.ts`. Update with `npx vitest run -u`.
 */
import { describe, expect, it } from 'vitest';
import { printDevicePlan } from '../../src/exec/plan/print-plan.js';
import type { Destination } from '../../src/exec/run/program.js';
import { CPU } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { iterate, type Lazy, placeholder, whileLoop } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';

// The workspace of a product depends on the instruction set and on the threads.
if (process.arch === 'x64') process.env.WEFT_ISA = 'avx2';
process.env.WEFT_THREADS = '2';

const KiB = 1024;
const x = placeholder([4096, 256], 'float32');

interface Job {
  readonly outputs: () => readonly Lazy[];
  readonly budget?: number;
  readonly destination?: Destination;
}

const JOBS: Readonly<Record<string, Job>> = {
  'columns standardized into a file, in tiles': {
    outputs: () => [x.sub(x.mean(0)).div(x.std(0))],
    budget: 256 * KiB,
    destination: 'file',
  },
  'a softmax of rows into a file, in tiles': {
    outputs: () => [x.softmax(1)],
    budget: 256 * KiB,
    destination: 'file',
  },
  'a product with an epilogue': {
    outputs: () => [x.matmul(placeholder([256, 100], 'float32')).add(1)],
    budget: 512 * KiB,
    destination: 'file',
  },
  'a loop of maps in place': { outputs: () => [iterate(50, x, (s) => s.mul(0.5).add(x))] },
  'a loop of neighbours, skewed': {
    outputs: () => [iterate(50, x, (s) => s.add(s.pad(1).slice([null, -2], [1, -1])).mul(0.5))],
  },
  'a loop until a condition holds, of two states': {
    outputs: () =>
      whileLoop(
        ([s]) => s.max().greater(1),
        ([s, t]) => [s.mul(0.5), t.add(1)],
        [x, placeholder([], 'float32')],
        { max: 100 },
      ),
  },
};

describe('the plan for the CPU', () => {
  it.each(Object.entries(JOBS))('is written down for %s', async (name, { outputs, ...options }) => {
    const exprs = outputs().map(({ expr }) => expr);
    const { plan } = planOnDevice(canonicalize(exprs), CPU, options);
    await expect(`${printDevicePlan(plan)}\n`).toMatchFileSnapshot(
      `../golden/plans/cpu-${name.replace(/\W+/g, '-')}.txt`,
    );
  });
});

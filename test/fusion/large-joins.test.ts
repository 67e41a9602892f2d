/** Joins of many parts: a kernel stores all of them, unless it would be too long or another kernel reads them. */
import { expect, it } from 'vitest';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { formOf } from '../../src/fusion/kernel/kernel.js';
import { concat, type Lazy, stack } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';
import { describePrograms, type Program, x } from '../support/ordinary-programs.js';

const N = 65_536;

/** The places of a spring at so many times. */
function oscillation(at: Lazy, speed: Lazy, steps: number): Lazy[] {
  const places: Lazy[] = [];
  let [now, velocity] = [at, speed];
  for (let k = 0; k < steps; k++) {
    velocity = velocity.sub(now.mul(0.01));
    now = now.add(velocity.mul(0.01));
    places.push(now);
  }
  return places;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  '64 rows, each computed from the one before': {
    inputs: [x([N]), x([N])],
    build: (at, speed) => stack(oscillation(at!, speed!, 64)),
    kernels: 1,
  },
  'rows scaled after they were stacked': {
    inputs: [x([N]), x([N])],
    build: (at, speed) => stack(oscillation(at!, speed!, 40)).mul(2),
    kernels: 1,
  },
  'a row of many that are stacked': {
    inputs: [x([N]), x([N])],
    build: (at, speed) => stack(oscillation(at!, speed!, 40)).slice(20),
    kernels: 1,
  },
  'a filter whose rows are of an array': {
    inputs: [x([40, 4096])],
    build: (rows) => {
      const smooth = [rows!.slice(0)];
      for (let k = 1; k < 40; k++) smooth.push(smooth[k - 1]!.mul(0.9).add(rows!.slice(k)));
      return stack(smooth);
    },
    kernels: 1,
  },
  'polynomials side by side': {
    inputs: [x([N])],
    build: (at) => {
      const terms = [at!.mul(0).add(1), at!];
      for (let k = 2; k < 20; k++)
        terms.push(
          at!
            .mul(2)
            .mul(terms[k - 1]!)
            .sub(terms[k - 2]!),
        );
      return stack(terms, 1);
    },
    kernels: 1,
  },
  'columns of lags': {
    inputs: [x([N])],
    build: (series) => stack(Array.from({ length: 24 }, (_, k) => series!.roll(k, 0))),
    kernels: 1,
  },
  'parts of several sizes, which are chosen from': {
    inputs: [x([100, 1000])],
    build: (rows) => concat(Array.from({ length: 40 }, (_, k) => rows!.slice([k, 2 * k + 1]).exp())),
    kernels: 4,
    moved: 40,
  },
  'rows of more arithmetic than a kernel holds': {
    inputs: [x([N]), x([N])],
    build: (at, speed) => stack(oscillation(at!, speed!, 200)),
    kernels: 18,
    kernelsOnGpu: 17,
    moved: 5.05,
  },
};

describePrograms(PROGRAMS);

it('stores one element of each of many parts at once on a GPU', () => {
  const results = [stack(oscillation(x([N]), x([N]), 64))];
  const { steps } = partitionOf(
    results.map(({ expr }) => expr),
    { passes: CUDA_TARGET.passes },
  );
  const [step] = steps;
  if (step?.kind !== 'kernel') throw new Error('no kernel');
  const { kernel } = step.kernel;
  expect(kernel.stores).toHaveLength(64);
  expect(kernel.tape.filter((i) => formOf(i).kind === 'load')).toHaveLength(2);
});

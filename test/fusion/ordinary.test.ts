/** Programs as people write them in NumPy: how many kernels they are, and the bytes that these move. */
import { expect, it } from 'vitest';
import { CPU_TARGET } from '../../src/exec/targets/cpu.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { formOf } from '../../src/fusion/kernel/kernel.js';
import { trafficOf } from '../../src/fusion/kernel/traffic.js';
import { arange, type Lazy, stack, where } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';
import { bytesOf, describePrograms, type Program, x } from '../support/ordinary-programs.js';

/** The inner part of a field after a step of diffusion; the border stays. */
function diffused(u: Lazy): Lazy {
  const inner = u.slice([1, -1], [1, -1]);
  const around = u
    .slice([0, -2], [1, -1])
    .add(u.slice([2, null], [1, -1]))
    .add(u.slice([1, -1], [0, -2]))
    .add(u.slice([1, -1], [2, null]));
  return u.at([1, -1], [1, -1]).set(inner.add(around.sub(inner.mul(4)).mul(0.1)));
}

/** A step of a shallow water model, whose state is the height and the momenta; everything is periodic. */
function shallowWater(state: Lazy): Lazy {
  const [h, hu, hv] = [0, 1, 2].map((k) => state.slice(k)) as [Lazy, Lazy, Lazy];
  const [u, v, pressure] = [hu.div(h), hv.div(h), h.square().mul(4.9)];
  const across = stack([hu, hu.mul(u).add(pressure), hu.mul(v)]);
  const along = stack([hv, hu.mul(v), hv.mul(v).add(pressure)]);
  const slopes = [across.roll(-1, 1).sub(across.roll(1, 1)), along.roll(-1, 2).sub(along.roll(1, 2))];
  return state.sub(slopes[0]!.add(slopes[1]!).mul(0.05));
}

/** The sum of the neighbours on a torus, less what they would have if they were alike. */
const onTorus = (u: Lazy): Lazy =>
  u.roll(1, 0).add(u.roll(-1, 0)).add(u.roll(1, 1)).add(u.roll(-1, 1)).sub(u.mul(4));

/** The eight neighbours on a torus. */
const around = [-1, 0, 1].flatMap((y) => [-1, 0, 1].flatMap((x) => (x === 0 && y === 0 ? [] : [[y, x]])));

const PROGRAMS: Readonly<Record<string, Program>> = {
  'the mean error of rows that are quantised by their largest element': {
    inputs: [x([4096, 1024])],
    build: (rows) => {
      const scales = rows!.abs().max(1, { keepdims: true }).div(127);
      const quantised = rows!.div(scales).round().astype('int8');
      return [quantised, scales, quantised.astype('float32').mul(scales).sub(rows!).square().mean()];
    },
    kernels: 2,
  },
  'a step of diffusion that is set inside a fixed border': {
    inputs: [x([500, 700])],
    build: (u) => diffused(u!),
    kernels: 1,
  },
  'derivatives along rows and along columns, each a result': {
    inputs: [x([1000, 1200])],
    build: (u) => [u!.gradient(1, { axis: 0 }), u!.gradient(0.5, { axis: 1 })],
    kernels: 1,
  },
  'vorticity and divergence of a field of two components': {
    inputs: [x([2, 600, 800])],
    build: (field) => {
      const [u, v] = [field!.slice(0), field!.slice(1)];
      const along = (a: Lazy, axis: number): Lazy => a.gradient(1, { axis });
      return [along(v, 1).sub(along(u, 0)), along(u, 1).add(along(v, 0))];
    },
    kernels: 1,
  },
  'columns scaled in place, a row of zeros': {
    inputs: [x([500, 700])],
    build: (u) => u!.at(null, [10, 20]).multiply(2).at(0).set(0),
    kernels: 1,
  },
  'fluxes that are stacked, rolled and subtracted': {
    inputs: [x([3, 512, 500], 'float64')],
    build: (state) => shallowWater(state!),
    kernels: 1,
  },
  'a generation of the game of life': {
    inputs: [x([1000, 1200], 'uint8')],
    build: (u) => {
      const alive = around.map((by) => u!.roll(by, [0, 1])).reduce((sum, each) => sum.add(each));
      return alive
        .equal(3)
        .logicalOr(alive.equal(2).logicalAnd(u!.equal(1)))
        .astype('uint8');
    },
    kernels: 1,
  },
  'a step of two substances that react and diffuse': {
    inputs: [x([1000, 1200]), x([1000, 1200])],
    build: (u, v) => {
      const reaction = u!.mul(v!).mul(v!);
      const fed = u!.neg().add(1).mul(0.06);
      return [
        u!.add(onTorus(u!).mul(0.16).sub(reaction).add(fed)),
        v!.add(onTorus(v!).mul(0.08).add(reaction).sub(v!.mul(0.122))),
      ];
    },
    kernels: 1,
  },
  'a leapfrog step, which gives the state that it was given': {
    inputs: [x([1000, 1200]), x([1000, 1200])],
    build: (u, before) => [u!.mul(2).sub(before!).add(onTorus(u!).mul(0.1)), u!],
    kernels: 1,
  },
  'a stencil of a stencil on a torus, whose first one is stored': {
    inputs: [x([1000, 1200])],
    build: (u) => onTorus(onTorus(u!)),
    kernels: 2,
    moved: 2,
    reasons: ['read-around'],
  },
  'a step of phases that part, whose potential is stored': {
    inputs: [x([1000, 1200])],
    build: (u) => u!.add(onTorus(u!.pow(3).sub(u!).sub(onTorus(u!).mul(0.5))).mul(0.01)),
    kernels: 2,
    moved: 2.51,
    reasons: ['read-around', 'needs-result'],
  },
  'a step of Runge and Kutta of heat on a torus, whose states are stored': {
    inputs: [x([1000, 1200])],
    build: (u) => {
      const first = onTorus(u!);
      const second = onTorus(u!.add(first.mul(0.05)));
      const third = onTorus(u!.add(second.mul(0.05)));
      const fourth = onTorus(u!.add(third.mul(0.1)));
      const slopes = first.add(second.mul(2)).add(third.mul(2)).add(fourth);
      return u!.add(slopes.mul(0.1 / 6));
    },
    kernels: 4,
    moved: 7.01,
    reasons: ['read-around', 'kernel-between', 'needs-result'],
  },
  // A mean is one number, and costs no element anything.
  'autocorrelations of what differs from the mean, which is computed in each': {
    inputs: [x([100_000])],
    build: (y) => {
      const centred = y!.sub(y!.mean());
      return [1, 2, 3].map((k) =>
        centred
          .slice([k, null])
          .mul(centred.slice([null, -k]))
          .mean(),
      );
    },
    kernels: 4,
    moved: 4.01,
    reasons: ['domain-mismatch', 'needs-result', 'part-read'],
  },
  'means of frames of a signal that is stored as rows, which begin within a row': {
    inputs: [x([1000, 1024])],
    build: (rows) => rows!.flatten().slice([10, -1014]).reshape(-1, 1024).mean(1),
    kernels: 1,
  },
  'fluxes of two upwind steps, whose first is stored': {
    inputs: [x([100_000])],
    build: (u) => [0, 1].reduce((state) => state.sub(state.mul(state.sub(state.roll(1, 0))).mul(0.1)), u!),
    kernels: 2,
    moved: 2,
  },
  'corners by the products of slopes, and by sums of these, which are stored': {
    inputs: [x([1000, 1200])],
    build: (u) => {
      const at = (v: Lazy, y: number, x: number): Lazy =>
        v.slice([1 + y, v.shape[0]! - 1 + y], [1 + x, v.shape[1]! - 1 + x]);
      const across = at(u!, 0, 1).sub(at(u!, 0, -1));
      const along = at(u!, 1, 0).sub(at(u!, -1, 0));
      const sums = [across.square(), along.square(), across.mul(along)].map((v) =>
        [-1, 0, 1].flatMap((y) => [-1, 0, 1].map((x) => at(v, y, x))).reduce((sum, each) => sum.add(each)),
      ) as [Lazy, Lazy, Lazy];
      const trace = sums[0].add(sums[1]);
      return sums[0].mul(sums[1]).sub(sums[2].square()).sub(trace.square().mul(0.04));
    },
    kernels: 2,
    moved: 3.05,
    reasons: ['read-around'],
  },
  'softmax of rows, and the sums of its columns, which are read again': {
    inputs: [x([20_000, 256])],
    build: (rows) => {
      const shares = rows!.softmax(1);
      return [shares, shares.sum(0)];
    },
    kernels: 2,
    moved: 1.505,
    reasons: ['other-axes'],
  },
  'an image stretched from its least to its largest element': {
    inputs: [x([1000, 1200])],
    build: (u) => u!.sub(u!.min()).div(u!.max().sub(u!.min())),
    kernels: 2,
    moved: 1.505,
    reasons: ['needs-result'],
  },
  'means of columns in the place of NaN, which are known after a first reading': {
    inputs: [x([10_000, 256])],
    build: (a) => where(a!.isnan(), a!.nanMean(0), a!),
    kernels: 2,
    moved: 1.505,
  },
  'accelerations of bodies, which are computed from the distance of each pair': {
    inputs: [x([1500, 3]), x([1500])],
    build: (at, mass) => {
      const apart = at!.slice('newaxis').sub(at!.slice(null, 'newaxis'));
      const weights = mass!.mul(apart.square().sum(-1).add(1e-3).pow(-1.5));
      return apart.mul(weights.slice('...', 'newaxis')).sum(1);
    },
    kernels: 1,
  },
  'the nearest of sixteen centres, and its distance': {
    inputs: [x([100_000, 8]), x([16, 8])],
    build: (rows, centres) => {
      const distances = rows!.slice(null, 'newaxis').sub(centres!).square().sum(-1);
      return [distances.argmin(1), distances.min(1).sqrt()];
    },
    kernels: 1,
  },
  'weighted distances, which are read twice for each pair': {
    inputs: [x([100_000, 8]), x([16, 8])],
    build: (rows, centres) => {
      const distances = rows!.slice(null, 'newaxis').sub(centres!).square().sum(-1);
      return distances.mul(distances.neg().exp()).sum(1);
    },
    kernels: 1,
  },
  'a cross-entropy with its gradient, which takes one score of each row': {
    inputs: [x([8192, 1000]), x([8192], 'int64')],
    build: (scores, labels) => {
      const columns = labels!.slice(null, 'newaxis');
      const most = scores!.logsumexp(1, { keepdims: true });
      const isLabel = columns.equal(arange(1000, 'int64'));
      const loss = most.sub(scores!.takeAlongAxis(columns, 1)).mean();
      return [loss, scores!.sub(most).exp().sub(isLabel).div(8192)];
    },
    kernels: 2,
  },
};

describePrograms(PROGRAMS);

it('asks for few bounds where many boxes are set one after the other', () => {
  let rows = x([1000, 8]);
  for (let k = 0; k < 200; k++) rows = rows.at(k).set(k);
  let bounds = 0;
  for (const step of partitionOf([rows.expr], { passes: CPU_TARGET.passes }).steps) {
    if (step.kind !== 'kernel') continue;
    for (const form of step.kernel.kernel.tape.map(formOf)) {
      if (form.kind === 'load') bounds += form.access.bounds.length;
      if (form.kind === 'inside') bounds += form.bounds.length;
    }
  }
  expect(bounds).toBeLessThan(5000);
});

it('stores no standard scores of columns that a kernel multiplies on CUDA', () => {
  const rows = x([100_000, 64]);
  const scores = rows.sub(rows.mean(0)).div(rows.std(0));
  const result = scores.T.matmul(scores).div(100_000);
  const { steps } = partitionOf([result.expr], { passes: CUDA_TARGET.passes });
  const moved = steps.reduce((bytes, step) => {
    if (step.kind !== 'kernel') throw new Error(`a ${step.kind}`);
    const { bytesRead, bytesWritten } = trafficOf(step.kernel.kernel);
    return bytes + bytesRead + bytesWritten;
  }, 0);
  expect(steps).toHaveLength(2);
  // Means and deviations are known after a first reading.
  expect(moved).toBeLessThan(2.01 * bytesOf([rows]));
});

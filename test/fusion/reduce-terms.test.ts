/** Reductions along the axis of a join: one kernel, which has the join in no memory unless it is a result. */
import { type Lazy, onesLike, stack } from '../../src/index.js';
import { describePrograms, type Program, x } from '../support/ordinary-programs.js';

const N = 65_536;

/** Central differences along each axis. */
const slopes = (u: Lazy): Lazy[] =>
  Array.from({ length: u.ndim }, (_, axis) => u.roll(-1, axis).sub(u.roll(1, axis)).mul(0.5));

const scores = (a: Lazy, b: Lazy): Lazy[] => [a.mul(2), b.exp(), a.sub(b)];

const PROGRAMS: Readonly<Record<string, Program>> = {
  'the length of a gradient whose parts lie side by side': {
    inputs: [x([48, 40, 36])],
    build: (u) => stack(slopes(u!), -1).norm({ axis: -1 }),
  },
  'the length of a gradient, beside it': {
    inputs: [x([48, 40, 36])],
    build: (u) => {
      const gradient = stack(slopes(u!));
      return [gradient, gradient.norm({ axis: 0 })];
    },
  },
  'the largest of several values': {
    inputs: [x([N]), x([N])],
    build: (a, b) => stack(scores(a!, b!)).max(0),
  },
  'which of several scores is the largest': {
    inputs: [x([N]), x([N])],
    build: (a, b) => stack(scores(a!, b!), 1).argmax(1),
  },
  'probabilities of scores that are stacked': {
    inputs: [x([N]), x([N])],
    build: (a, b) => stack(scores(a!, b!)).softmax(0),
  },
  'probabilities of scores side by side': {
    inputs: [x([N]), x([N])],
    build: (a, b) => stack(scores(a!, b!), 1).softmax(1),
  },
  'mean and deviation of an ensemble': {
    inputs: [x([N]), x([N])],
    build: (a, b) => {
      const all = stack([...scores(a!, b!), a!.mul(b!)]);
      return [all.mean(0), all.std(0)];
    },
  },
  'the likelihood of a mixture': {
    inputs: [x([N])],
    build: (a) => stack([0, 1, 2, 3].map((k) => a!.sub(k).square().mul(-0.5).sub(k))).logsumexp(0),
  },
  'vectors divided by their lengths': {
    inputs: [x([N]), x([N]), x([N])],
    build: (a, b, c) => {
      const vectors = stack([a!.mul(2), b!.sub(1), c!], -1);
      return vectors.div(vectors.norm({ axis: -1, keepdims: true }));
    },
  },
  'dot products of stacked vectors': {
    inputs: [x([N]), x([N]), x([N])],
    build: (a, b, c) =>
      stack([a!, b!, c!], -1)
        .mul(stack([b!.exp(), c!, a!], -1))
        .sum(-1),
  },
  'a series of polynomials': {
    inputs: [x([N]), x([12])],
    build: (at, weights) => {
      const terms = [onesLike(at!), at!];
      for (let k = 2; k < 12; k++)
        terms.push(
          at!
            .mul(2)
            .mul(terms[k - 1]!)
            .sub(terms[k - 2]!),
        );
      return stack(terms).mul(weights!.slice(null, 'newaxis')).sum(0);
    },
  },
  'the largest of 30 waves': {
    inputs: [x([N])],
    build: (at) =>
      stack(
        Array.from({ length: 30 }, (_, k) =>
          at!
            .mul(k + 1)
            .sin()
            .add(at!),
        ),
      ).max(0),
  },
  'a sum of 24 waves side by side': {
    inputs: [x([N])],
    build: (at) =>
      stack(
        Array.from({ length: 24 }, (_, k) => at!.mul(k + 1).sin()),
        -1,
      ).sum(-1),
  },
  'a mean of 32 lags': {
    inputs: [x([N + 31])],
    build: (at) => stack(Array.from({ length: 32 }, (_, k) => at!.slice([k, N + k]))).mean(0),
  },
};

describePrograms(PROGRAMS);

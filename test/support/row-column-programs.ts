/** Programs that reduce the rows of few columns, and then the columns by what they found. */
import { arange, type Lazy, where } from '../../src/index.js';
import { type Program, x } from './ordinary-programs.js';

const N = 65_536;

/** The gradient of a loss along weights: rows by the slope of each. */
const alongWeights = (rows: Lazy, slopes: Lazy): Lazy => slopes.slice(null, 'newaxis').mul(rows).mean(0);

const squaredDistances = (points: Lazy, centres: Lazy): Lazy =>
  points.slice(null, 'newaxis').sub(centres).square().sum(-1);

/** Ones where a label is that of a column. */
const oneHot = (labels: Lazy, columns: number): Lazy =>
  labels.slice(null, 'newaxis').equal(arange(columns, 'int64')).astype('float32');

/** Centres of points, by the weight of each point for each centre. */
const centresBy = (weights: Lazy, points: Lazy): Lazy =>
  weights.transpose().matmul(points).div(weights.sum(0).slice(null, 'newaxis'));

/** The shares of the components of a mixture in each value. */
const sharesOf = (values: Lazy, means: Lazy, widths: Lazy): Lazy =>
  values.slice(null, 'newaxis').sub(means).div(widths).square().mul(-0.5).sub(widths.log()).softmax(1);

/** Counts, means and variances, which are around the new means, of a mixture's components. */
export function mixtureStep(values: Lazy, means: Lazy, widths: Lazy): Lazy[] {
  const shares = sharesOf(values, means, widths);
  const counts = shares.sum(0);
  const each = values.slice(null, 'newaxis');
  const centres = shares.mul(each).sum(0).div(counts);
  return [counts, centres, shares.mul(each.sub(centres).square()).sum(0).div(counts)];
}

export const ROW_COLUMN_PROGRAMS: Readonly<Record<string, Program>> = {
  'the gradient of logistic regression': {
    inputs: [x([N, 6]), x([N]), x([6])],
    build: (rows, labels, weights) => alongWeights(rows!, rows!.mul(weights!).sum(1).sigmoid().sub(labels!)),
  },
  'the gradient of logistic regression, by products': {
    inputs: [x([N, 4]), x([N]), x([4])],
    build: (rows, labels, weights) =>
      rows!.transpose().matmul(rows!.matmul(weights!).sigmoid().sub(labels!)).div(N),
  },
  'a step of linear regression': {
    inputs: [x([N, 8]), x([N]), x([8])],
    build: (rows, targets, weights) => {
      const errors = rows!.matmul(weights!).sub(targets!);
      return weights!.sub(
        rows!
          .transpose()
          .matmul(errors)
          .mul(2 / N),
      );
    },
  },
  'the loss of linear regression and its gradient': {
    inputs: [x([N, 8], 'float64'), x([N], 'float64'), x([8], 'float64')],
    build: (rows, targets, weights) => {
      const errors = rows!.matmul(weights!).sub(targets!);
      return [
        errors.square().mean(),
        rows!
          .transpose()
          .matmul(errors)
          .mul(2 / N),
      ];
    },
  },
  'the hinge loss and its gradient': {
    inputs: [x([N, 6]), x([N]), x([6])],
    build: (rows, labels, weights) => {
      const margins = rows!.mul(weights!).sum(1).mul(labels!);
      const inside = margins.less(1).slice(null, 'newaxis');
      const slopes = labels!.slice(null, 'newaxis').mul(rows!).neg();
      return [margins.neg().add(1).relu().mean(), where(inside, slopes, 0).mean(0)];
    },
  },
  "a step of Oja's rule": {
    inputs: [x([N, 5]), x([5])],
    build: (rows, weights) => {
      const along = rows!.mul(weights!).sum(1, { keepdims: true });
      return weights!.add(
        along
          .mul(rows!.sub(along.mul(weights!)))
          .mean(0)
          .mul(0.01),
      );
    },
  },
  'the mean direction of vectors': {
    inputs: [x([N, 3])],
    build: (rows) => rows!.div(rows!.norm({ axis: 1, keepdims: true })).mean(0),
  },
  'a step of fuzzy c-means': {
    inputs: [x([N, 2]), x([8, 2])],
    build: (points, centres) => {
      const nearness = squaredDistances(points!, centres!).add(1e-3).reciprocal();
      return centresBy(nearness.div(nearness.sum(1, { keepdims: true })).square(), points!);
    },
  },
  'a step of k-means': {
    inputs: [x([N, 3]), x([6, 3])],
    build: (points, centres) => centresBy(oneHot(squaredDistances(points!, centres!).argmin(1), 6), points!),
  },
  'labels and a step of k-means': {
    inputs: [x([N, 3]), x([6, 3])],
    build: (points, centres) => {
      const labels = squaredDistances(points!, centres!).argmin(1);
      return [labels, centresBy(oneHot(labels, 6), points!)];
    },
  },
  'a step of softmax regression': {
    inputs: [x([N, 16]), x([N]), x([16, 4])],
    build: (rows, labels, weights) => {
      const errors = rows!
        .matmul(weights!)
        .softmax(1)
        .sub(oneHot(labels!.floor().astype('int64'), 4));
      return weights!.sub(
        rows!
          .transpose()
          .matmul(errors)
          .mul(1 / N),
      );
    },
  },
  'a step of linear regression of 16 columns': {
    inputs: [x([N, 16]), x([N]), x([16])],
    build: (rows, targets, weights) =>
      weights!.sub(
        rows!
          .transpose()
          .matmul(rows!.matmul(weights!).sub(targets!))
          .mul(1 / N),
      ),
  },
  'a step of a mixture of normal distributions': {
    inputs: [x([N]), x([4]), x([4])],
    build: (values, means, widths) => mixtureStep(values!, means!, widths!),
  },
  'gates of experts and their load': {
    inputs: [x([N, 8])],
    build: (scores) => {
      const shares = scores!.softmax(1);
      return [shares.max(1), shares.argmax(1), shares.mean(0)];
    },
  },
  'rotated vectors and their covariance': {
    inputs: [x([N, 3]), x([3, 3])],
    build: (rows, turn) => {
      const turned = rows!.matmul(turn!);
      return turned.transpose().matmul(turned).div(N);
    },
  },
  'largest and least shares of each column': {
    inputs: [x([N, 4])],
    build: (rows) => {
      const shares = rows!.div(rows!.sum(1, { keepdims: true }));
      return [shares.max(0), shares.min(0)];
    },
  },
};

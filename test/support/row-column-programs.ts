/** Programs that reduce the rows of few columns, and then the columns by what they found. */
import { type Lazy, where } from '../../src/index.js';
import { type Program, x } from './ordinary-programs.js';

const N = 65_536;

/** The gradient of a loss along weights: rows by the slope of each. */
const alongWeights = (rows: Lazy, slopes: Lazy): Lazy => slopes.slice(null, 'newaxis').mul(rows).mean(0);

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
  'largest and least shares of each column': {
    inputs: [x([N, 4])],
    build: (rows) => {
      const shares = rows!.div(rows!.sum(1, { keepdims: true }));
      return [shares.max(0), shares.min(0)];
    },
  },
};

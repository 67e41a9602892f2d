/** Chains on a torus: rows beyond the ends of values, of which no kernel reads the other end. */
import { afterAll, describe, expect, it } from 'vitest';
import { sweepsOf } from '../../src/exec/plan/plan.js';
import { CPU } from '../../src/exec/targets/device.js';
import { loadsOf } from '../../src/fusion/kernel/algebra.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { arange, type Lazy, placeholder } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';

const set = process.env.WEFT_PANEL_BYTES;
process.env.WEFT_PANEL_BYTES = '98304';
afterAll(() => {
  if (set === undefined) delete process.env.WEFT_PANEL_BYTES;
  else process.env.WEFT_PANEL_BYTES = set;
});

const [ROWS, COLUMNS] = [600, 340];
const image = placeholder([ROWS, COLUMNS], 'float32');
/** Kernels that pass values in panels. */
const panelsOf = (result: Lazy): Kernel[] =>
  planOnDevice(canonicalize([result.expr]), CPU, {})
    .plan.steps.flatMap(sweepsOf)
    .flatMap(({ body }) => body.map(({ step }) => (step as { kernel: Kernel }).kernel));
const rowsOf = (result: Lazy): number[] => panelsOf(result).map(({ parallel }) => parallel[0]!);
/** Buffers that a kernel reads around. */
const aroundOf = (kernel: Kernel): number[] => {
  const isAround = loadsOf(kernel).filter(({ access }) =>
    access.bounds.some(({ fold }) => fold?.mode === 'wrap' && fold.stride === COLUMNS),
  );
  return [...new Set(isAround.map(({ access }) => kernel.buffers[access.buffer]!.elementCount))];
};
const around = (x: Lazy, before: number, after: number): Lazy => x.roll(before, 0).add(x.roll(-after, 0));

describe('values that are read around', () => {
  it('have as many rows beyond their ends as all that follow need', () => {
    const three = around(around(around(image, 1, 1), 2, 0), 0, 4);
    expect(rowsOf(three)).toEqual([ROWS + 6, ROWS + 4, ROWS]);
    expect(rowsOf(around(around(image, 0, 3), 0, 5))).toEqual([ROWS + 5, ROWS]);
  });

  it('are read at their places, and inputs around', () => {
    const kernels = panelsOf(around(around(image.sin(), 1, 1), 2, 2).sub(image));
    expect(kernels.map(aroundOf)).toEqual([[ROWS * COLUMNS], []]);
  });

  it('have the rows of a row of weights by columns, and of an array that is repeated down the rows', () => {
    const weights = placeholder([COLUMNS], 'float32');
    const weighted = (x: Lazy): Lazy => around(x, 1, 1).mul(weights).add(arange(COLUMNS));
    expect(rowsOf(weighted(weighted(image)))).toEqual([ROWS + 2, ROWS]);
  });

  it('are stored where rows depend on their place, are results, or are far beyond the ends', () => {
    const place = arange(ROWS).expandDims(1);
    const once = around(image, 1, 1);
    expect(rowsOf(around(around(image.mul(place), 1, 1), 1, 1))).toEqual([]);
    expect(rowsOf(around(around(image, 100, 1), 100, 1))).toEqual([]);
    const { plan } = planOnDevice(canonicalize([once.expr, around(once, 1, 1).expr]), CPU, {});
    expect(plan.steps.flatMap(sweepsOf)).toEqual([]);
  });

  it('are reduced as they were, over rows and over columns', () => {
    const step = around(image, 1, 1);
    const [first, sum] = panelsOf(around(step, 1, 1).sum(0));
    expect(first!.parallel[0]).toBe(ROWS + 2);
    expect(sum!.reduced).toContain(ROWS);
  });
});

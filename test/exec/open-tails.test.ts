/** Elements behind the length that compactions write, which results lose. */
import { describe, expect, it } from 'vitest';
import type { Destination } from '../../src/exec/plan/plan-graph.js';
import { printDevicePlan } from '../../src/exec/plan/print-plan.js';
import { CPU } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { upToBound } from '../../src/graph/extent.js';
import { type Lazy, lazy, nonzero, sparse } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';

const x = lazy(Float32Array.of(3, -1, 2, -5, 0, 7, 2, 3));
const positive = x.greater(0);
const some = x.slice(positive);
const three = sparse.diags([1, 2, 1], [-1, 0, 1], [9, 9]);
const square = three.matmul(three);

function planOf(destination: Destination, ...outputs: Lazy[]): string {
  const exprs = outputs.map(({ expr }) => upToBound(expr));
  return printDevicePlan(planOnDevice(canonicalize(exprs), CPU, { destination }).plan);
}

describe('what is behind the length', () => {
  it('is left undefined in results of the CPU in host memory, which are cut', async () => {
    expect(planOf('host', some)).toMatch(/compact .* \(1\)/);
    expect(planOf('host', ...nonzero(x))).toMatch(/compact bool \(8,?\) \(1\)/);
    expect(planOf('file', some)).toMatch(/compact .*\(\)/);
    expect((await some.compute({ device: 'cpu' })).data).toEqual(Float32Array.of(3, 2, 7, 2, 3));
  });

  it('is left undefined in results that stay on a device', () => {
    expect(planOf('device', some)).toMatch(/compact bool \(8,?\) float32 \(8,?\) \(1\)/);
    expect(planOf('device', ...nonzero(x))).toMatch(/compact bool \(8,?\) \(1\)/);
    expect(planOf('device', x.uniqueValues())).toMatch(/distinct float32 \(8,?\) \(1\)/);
    const { data, indices } = square;
    expect(planOf('device', data, indices)).toMatch(/sparseMatmul .* 1\)/);
  });

  it('is written where a step reads it', () => {
    expect(planOf('device', some.mul(2))).toMatch(/compact .*\(\)/);
    expect(planOf('device', some, some.mul(2))).toMatch(/compact .*\(\)/);
    expect(planOf('host', some.mul(2))).toMatch(/compact .*\(\)/);
    expect(planOf('device', square.data.mul(2), square.indices)).not.toMatch(/sparseMatmul .* 1\)/);
  });
});

/**
 * How much workspace a product on a GPU is planned with: no more than it is faster with, from its sizes
 * alone.
 */

import { describe, expect, it } from 'vitest';
import { gpu } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { lazy } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';

const MIB = 2 ** 20;

const ARRAYS = { float32: Float32Array, float64: Float64Array };

function workspaceOf(dtype: keyof typeof ARRAYS, m: number, k: number, n: number): number {
  const matrix = (rows: number, columns: number) =>
    lazy(new ARRAYS[dtype](rows * columns)).reshape([rows, columns]);
  const product = matrix(m, k).matmul(matrix(k, n));
  const { plan } = planOnDevice(canonicalize([product.expr]), gpu(0), { exact: false });
  const workspaces = plan.steps.flatMap((step) => (step.kind === 'call' ? [step.workspace!] : []));
  expect(workspaces).toHaveLength(1);
  return plan.buffers[workspaces[0]!]!.byteLength;
}

describe('the workspace of a product', () => {
  it.each([
    ['long sums, which are split', 'float32', [1024, 16384, 1024], 32 * MIB],
    ['a result larger than any workspace', 'float32', [8192, 256, 8192], 4 * MIB],
    ['the same of float64', 'float64', [8192, 256, 8192], 32 * MIB],
    ['small matrices', 'float32', [512, 512, 512], 3 * MIB],
    ['very small ones', 'float32', [64, 64, 64], 64 * 1024],
  ] as const)('of %s', (_, dtype, [m, k, n], bytes) => {
    expect(workspaceOf(dtype, m, k, n)).toBe(bytes);
  });
});

/** Which drivers and compilers let a GPU decide on loops by itself. */
import { describe, expect, it } from 'vitest';
import type { CudaInfo } from '../../src/exec/native/native.js';
import { hasConditionalNodes } from '../../src/exec/plan/loop-records.js';

const info = (
  conditionalNodes: boolean | undefined,
  version: string | undefined,
): Pick<CudaInfo, 'driver' | 'nvrtc'> => ({
  driver: conditionalNodes === undefined ? null : { path: 'libcuda', version: '12.8', conditionalNodes },
  nvrtc: version === undefined ? null : { path: 'libnvrtc', version, builtins: null, architectures: [90] },
});

describe('conditional nodes', () => {
  it.each([
    [true, '12.4'],
    [true, '12.10'],
    [true, '13.0'],
  ])('are used where the driver has them (%s) and NVRTC is %s', (nodes, version) => {
    expect(hasConditionalNodes(info(nodes, version))).toBe(true);
  });

  it.each([
    [undefined, '13.0'],
    [false, '13.0'],
    [true, undefined],
    [true, '11.8'],
    [true, '12.3'],
  ])('are not where the driver says %s and NVRTC is %s', (nodes, version) => {
    expect(hasConditionalNodes(info(nodes, version))).toBe(false);
  });
});

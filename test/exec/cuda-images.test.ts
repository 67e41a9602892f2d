/** How the sources of calls are compiled. */
import { describe, expect, it } from 'vitest';
import { CUDA_OPTIONS, KERNEL_OPTIONS } from '../../src/codegen/cuda/cuda.js';
import type { CallKernels, CallLaunch } from '../../src/exec/calls/call-row.js';
import { callSource, callSources, sourcesByKey } from '../../src/exec/targets/cuda-images.js';

const launch = (source?: string): CallLaunch => ({
  function: 'f',
  blocks: 1,
  threads: 32,
  args: [],
  ...(source === undefined ? {} : { source }),
});
const kernelsOf = (compiled?: CallKernels['compiled']): CallKernels => ({
  source: 'of the call',
  launches: [launch(), launch('of a launch'), launch()],
  compiled,
});

describe('the source of a launch', () => {
  it('is compiled as that of its call', () => {
    const kernels = kernelsOf({ options: KERNEL_OPTIONS, isSpecific: true });
    const sources = kernels.launches.map((each) => callSource(kernels, each));
    expect(sources.map(({ text }) => text)).toEqual(['of the call', 'of a launch', 'of the call']);
    for (const { options, isSpecific } of sources) {
      expect(options).toBe(KERNEL_OPTIONS);
      expect(isSpecific).toBe(true);
    }
    expect(sourcesByKey(callSources(kernels)).size).toBe(2);
  });

  it('is a routine where its call says nothing else', () => {
    const kernels = kernelsOf();
    for (const each of kernels.launches) expect(callSource(kernels, each).options).toBe(CUDA_OPTIONS);
  });

  it("has no entry and no texts of users, which are of the call's", () => {
    const userTexts = [{ text: 'of the call', site: undefined }] as never;
    const compiled = { options: [...CUDA_OPTIONS, '-DN=3'], entry: 'f<3>', userTexts };
    const kernels = kernelsOf(compiled);
    expect(callSource(kernels, kernels.launches[0]!)).toEqual({ text: 'of the call', ...compiled });
    const { options, ...own } = callSource(kernels, kernels.launches[1]!);
    expect(options).toBe(compiled.options);
    expect(own).toEqual({ text: 'of a launch', isSpecific: undefined });
  });
});

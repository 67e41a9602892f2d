/**
 * The simulator stands in for exactly what the addon looks up: no symbol is missing, none is there for
 * nothing.
 */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { cudaEntryPoints, cudaInfo } from '../../src/exec/native/native.js';
import { SIM_ENVIRONMENT } from './environment.js';

function exportsOf(library: string): string[] {
  const lines = execFileSync('nm', ['-D', '--defined-only', '--format=posix', library], { encoding: 'utf8' });
  return lines
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0]!);
}

describe('the simulated libraries', () => {
  it.each([
    ['driver', SIM_ENVIRONMENT.WEFT_CUDA_DRIVER],
    ['nvrtc', SIM_ENVIRONMENT.WEFT_NVRTC],
    ['cublas', SIM_ENVIRONMENT.WEFT_CUBLAS],
    ['cublasLt', SIM_ENVIRONMENT.WEFT_CUBLASLT],
    ['cutensor', SIM_ENVIRONMENT.WEFT_CUTENSOR],
    ['cufft', SIM_ENVIRONMENT.WEFT_CUFFT],
    ['cusolver', SIM_ENVIRONMENT.WEFT_CUSOLVER],
    ['cudss', SIM_ENVIRONMENT.WEFT_CUDSS],
  ] as const)('export the entry points of %s that the addon looks up, and no others', (name, library) => {
    expect(exportsOf(library).sort()).toEqual([...cudaEntryPoints()[name]].sort());
  });

  it('are those that Weft uses here', () => {
    const { driver, nvrtc, cublas } = cudaInfo();
    expect([driver?.path, nvrtc?.path, cublas?.path]).toEqual([
      SIM_ENVIRONMENT.WEFT_CUDA_DRIVER,
      SIM_ENVIRONMENT.WEFT_NVRTC,
      SIM_ENVIRONMENT.WEFT_CUBLAS,
    ]);
  });
});

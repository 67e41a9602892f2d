/** Where CUDA libraries are looked for, on made-up machines. */
import { describe, expect, it } from 'vitest';
import { cudaCandidates } from '../../src/exec/native/cuda-libraries.js';
import { readConfig } from '../../src/host/config.js';

/** A machine that has these files; gives each folder's names. */
function machine(...files: string[]) {
  return (folder: string): string[] => {
    const inside = files.filter((file) => file.startsWith(`${folder}/`));
    return [...new Set(inside.map((file) => file.slice(folder.length + 1).split('/')[0]!))];
  };
}

const candidates = (env: Record<string, string>, ...files: string[]) =>
  cudaCandidates(readConfig(env, '/home/u').cuda, machine(...files));

const paths = (list: readonly string[]): string[] => list.filter((place) => place.includes('/'));

describe('the places of CUDA libraries', () => {
  it('are the loader’s where nothing is installed', () => {
    const found = candidates({});
    expect(found.nvrtc).toEqual(['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so.11.2']);
    expect(found.cublas).toEqual(['libcublas.so.13', 'libcublas.so.12', 'libcublas.so.11']);
    expect(found.driver[0]).toBe('libcuda.so.1');
  });

  it('are the one of the override and no other', () => {
    const env = {
      WEFT_NVRTC: '/o/n.so',
      WEFT_CUBLAS: '/o/b.so',
      WEFT_CUBLASLT: '/o/l.so',
      WEFT_CUTENSOR: '/o/t.so',
      WEFT_CUFFT: '/o/f.so',
      WEFT_CUSOLVER: '/o/s.so',
      WEFT_CUDSS: '/o/ss.so',
      WEFT_CUDA_DRIVER: '/o/d.so',
    };
    expect(candidates(env, '/usr/local/cuda/lib64/libnvrtc.so.13')).toEqual({
      driver: ['/o/d.so'],
      nvrtc: ['/o/n.so'],
      cublas: ['/o/b.so'],
      cublasLt: ['/o/l.so'],
      cutensor: ['/o/t.so'],
      cufft: ['/o/f.so'],
      cusolver: ['/o/s.so'],
      cudss: ['/o/ss.so'],
    });
  });

  it('are toolkits in the order WEFT_CUDA_PATH, CUDA_HOME, CUDA_PATH, PATH, /usr/local, newest first', () => {
    const env = { WEFT_CUDA_PATH: '/w', CUDA_HOME: '/h', CUDA_PATH: '/p', PATH: '/bin:/t/bin' };
    const name = 'libnvrtc.so.13';
    const found = candidates(
      env,
      `/usr/local/cuda-12.9/lib64/${name}`,
      `/usr/local/cuda-12.10/lib64/${name}`,
      `/t/lib64/${name}`,
      '/t/bin/nvcc',
      `/p/lib64/${name}`,
      `/h/lib64/${name}`,
      `/w/lib64/${name}`,
    );
    expect(paths(found.nvrtc)).toEqual([
      `/w/lib64/${name}`,
      `/h/lib64/${name}`,
      `/p/lib64/${name}`,
      `/t/lib64/${name}`,
      `/usr/local/cuda-12.10/lib64/${name}`,
      `/usr/local/cuda-12.9/lib64/${name}`,
    ]);
  });

  it('are the packages of Python environments, pip’s of CUDA 12 and of CUDA 13', () => {
    const found = candidates(
      { VIRTUAL_ENV: '/v', CONDA_PREFIX: '/c' },
      '/v/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12',
      '/v/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12',
      '/home/u/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13',
      '/c/lib/libcublas.so.12',
    );
    expect(paths(found.nvrtc)).toEqual([
      '/v/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12',
      '/home/u/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13',
    ]);
    expect(paths(found.cublas)).toEqual([
      '/c/lib/libcublas.so.12',
      '/v/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12',
    ]);
  });

  it('are cuTENSOR’s own packages, of Python and of the system, those of newer CUDA first', () => {
    const found = candidates(
      { VIRTUAL_ENV: '/v' },
      '/usr/lib/x86_64-linux-gnu/libcutensor/12/libcutensor.so.2',
      '/usr/lib/x86_64-linux-gnu/libcutensor/13/libcutensor.so.2',
      '/v/lib/python3.12/site-packages/cutensor/lib/libcutensor.so.2',
    );
    expect(found.cutensor).toEqual([
      'libcutensor.so.2',
      '/v/lib/python3.12/site-packages/cutensor/lib/libcutensor.so.2',
      '/usr/lib/x86_64-linux-gnu/libcutensor/13/libcutensor.so.2',
      '/usr/lib/x86_64-linux-gnu/libcutensor/12/libcutensor.so.2',
    ]);
  });

  it('are those of the Python that PATH finds', () => {
    const library = '/opt/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcublas.so.13';
    expect(paths(candidates({ PATH: '/opt/venv/bin' }, '/opt/venv/bin/python3', library).cublas)).toEqual([
      library,
    ]);
  });
});

/** The one command that gets the CUDA libraries which a machine lacks. */
import { describe, expect, it } from 'vitest';
import { cudaCandidates } from '../../src/exec/native/cuda-libraries.js';
import type { CudaInfo } from '../../src/exec/native/native.js';
import { type CudaSearchPaths, readConfig } from '../../src/host/config.js';
import { setupOf } from '../../src/inspect/setup.js';

const LIBRARY = { version: '13.0', path: '/usr/lib/one.so' };
const NVRTC = { ...LIBRARY, builtins: '/usr/lib/builtins.so', architectures: [75, 90] };

/** A machine with a GPU, where libraries are missing that are named. */
function machine(
  missing: readonly ('nvrtc' | 'cublas' | 'cublasLt' | 'cufft' | 'cusolver')[],
  version = '13.0',
): CudaInfo {
  const found = <T>(name: (typeof missing)[number], library: T): T | null =>
    missing.includes(name) ? null : library;
  return {
    driver: { version, path: 'libcuda.so.1', conditionalNodes: true },
    devices: [],
    nvrtc: found('nvrtc', NVRTC),
    cublas: found('cublas', LIBRARY),
    cublasLt: found('cublasLt', LIBRARY),
    cufft: found('cufft', LIBRARY),
    cusolver: found('cusolver', LIBRARY),
    tried: { driver: [], nvrtc: [], cublas: [], cublasLt: [], cufft: [], cusolver: [] },
  } as unknown as CudaInfo;
}

const places = (env: Readonly<Record<string, string>> = {}): CudaSearchPaths =>
  readConfig({ PATH: '/bin', ...env }, '/home/u').cuda;
const programs =
  (...names: readonly string[]) =>
  (folder: string): readonly string[] =>
    folder === '/bin' ? names : [];

describe('setup', () => {
  it('has no command where nothing is missing, or where there is no driver', () => {
    expect(setupOf(machine([]), places())).toMatchObject({ command: null, note: 'nothing is missing' });
    const none = { ...machine(['nvrtc']), driver: null };
    expect(setupOf(none, places())).toMatchObject({ command: null, note: expect.stringMatching(/CPU/) });
  });

  it('installs each package once, into a folder where Weft looks', () => {
    const { command } = setupOf(machine(['nvrtc', 'cublas', 'cublasLt']), places(), programs('python3'));
    expect(command).toBe(
      "python3 -m pip install --target '/home/u/.local/share/weft' nvidia-cuda-nvrtc nvidia-cublas",
    );
    const list = (folder: string): readonly string[] =>
      ({
        '/home/u/.local/share/weft/nvidia': ['cu13'],
        '/home/u/.local/share/weft/nvidia/cu13/lib': ['libnvrtc.so.13', 'libcublas.so.13'],
      })[folder] ?? [];
    const { nvrtc, cublas } = cudaCandidates(places(), list);
    expect(nvrtc).toContain('/home/u/.local/share/weft/nvidia/cu13/lib/libnvrtc.so.13');
    expect(cublas).toContain('/home/u/.local/share/weft/nvidia/cu13/lib/libcublas.so.13');
  });

  it('takes the packages of the CUDA that the driver has', () => {
    const { command } = setupOf(machine(['nvrtc'], '12.4'), places(), programs('python3'));
    expect(command).toMatch(/ nvidia-cuda-nvrtc-cu12$/);
  });

  it('installs into the environment that is active', () => {
    const venv = places({ VIRTUAL_ENV: '/venv' });
    expect(setupOf(machine(['cublasLt']), venv).command).toBe('python3 -m pip install nvidia-cublas');
    expect(setupOf(machine(['cufft']), venv).command).toBe('python3 -m pip install nvidia-cufft');
    const conda = places({ CONDA_PREFIX: '/conda' });
    expect(setupOf(machine(['nvrtc', 'cublas'], '12.4'), conda, programs('conda')).command).toBe(
      'conda install -c nvidia cuda-nvrtc libcublas cuda-version=12',
    );
  });

  it('gets Python first where there is none', () => {
    const { command } = setupOf(machine(['nvrtc']), places({ XDG_DATA_HOME: '/data' }), programs('apt-get'));
    expect(command).toBe(
      "apt-get install -y python3-pip && python3 -m pip install --target '/data/weft' nvidia-cuda-nvrtc",
    );
    const { note } = setupOf(machine(['nvrtc']), places(), programs());
    expect(note).toMatch(/it takes Python 3 with pip$/);
  });
});

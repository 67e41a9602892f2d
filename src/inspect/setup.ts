/**
 * Setup: the libraries of CUDA that Weft found, and the one command that gets those which are missing. It is printed, not
 * run: what it installs takes some hundred megabytes. `cli.ts` prints it.
 */
import { listFolder } from '../exec/native/cuda-libraries.js';
import { type CudaInfo, cudaInfo, probeCuda } from '../exec/native/native.js';
import { type CudaSearchPaths, config } from '../host/config.js';
import { driverFinding, libraryFindings } from './cuda-findings.js';
import type { Finding } from './finding.js';

export interface SetupReport {
  readonly findings: readonly Finding[];
  /** The command that gets what is missing; null: nothing is, or nothing would help. */
  readonly command: string | null;
  /** Why there is no command, or what it takes. */
  readonly note: string;
}

/** The packages of pip and of conda that have a library. cuBLAS and cuBLASLt come together. */
const PACKAGES: Readonly<Record<string, { readonly pip: string; readonly conda: string }>> = {
  NVRTC: { pip: 'nvidia-cuda-nvrtc', conda: 'cuda-nvrtc' },
  cuBLAS: { pip: 'nvidia-cublas', conda: 'libcublas' },
  cuBLASLt: { pip: 'nvidia-cublas', conda: 'libcublas' },
  cuFFT: { pip: 'nvidia-cufft', conda: 'libcufft' },
  cuSOLVER: { pip: 'nvidia-cusolver', conda: 'libcusolver' },
};

/** The end of a pip package's name: from CUDA 13 on it has none. */
const suffixOf = (cudaMajor: number): string => (cudaMajor >= 13 ? '' : `-cu${cudaMajor}`);

/** The command that installs the packages of libraries, by what there is on the machine. */
function installCommandOf(
  names: readonly string[],
  cudaVersion: string,
  places: CudaSearchPaths,
  list = listFolder,
): { readonly command: string; readonly note: string } {
  const major = Number.parseInt(cudaVersion, 10);
  const packages = names.map((name) => PACKAGES[name]!);
  const pip = [...new Set(packages.map((one) => `${one.pip}${suffixOf(major)}`))].join(' ');
  const onPath = (program: string): boolean => places.binFolders.some((bin) => list(bin).includes(program));
  if (places.environment === 'python')
    return { command: `python3 -m pip install ${pip}`, note: 'into the virtual environment that is active' };
  if (places.environment === 'conda' && onPath('conda')) {
    const conda = [...new Set(packages.map((one) => one.conda))].join(' ');
    return {
      command: `conda install -c nvidia ${conda} cuda-version=${major}`,
      note: 'into the environment that is active',
    };
  }
  const target = `--target '${places.packages ?? '/usr/local/share/weft'}'`;
  const install = `python3 -m pip install ${target} ${pip}`;
  const note = 'into a folder where Weft looks, whatever environment is active';
  if (onPath('python3')) return { command: install, note };
  if (onPath('apt-get')) return { command: `apt-get install -y python3-pip && ${install}`, note };
  return { command: install, note: `${note}; it takes Python 3 with pip` };
}

/** Looks for the libraries. Throws `NativeError` where there is no addon to look with. */
export async function examineSetup(): Promise<SetupReport> {
  await probeCuda();
  return setupOf(cudaInfo(), config().cuda);
}

export function setupOf(info: CudaInfo, places: CudaSearchPaths, list = listFolder): SetupReport {
  const findings = [driverFinding(info), ...libraryFindings(info)];
  if (info.driver === null)
    return {
      findings,
      command: null,
      note: 'without an NVIDIA driver the CPU computes, which needs nothing more',
    };
  const missing = findings.slice(1).filter(({ status }) => status !== 'found');
  if (missing.length === 0) return { findings, command: null, note: 'nothing is missing' };
  const names = missing.map(({ name }) => name);
  return { findings, ...installCommandOf(names, info.driver.version, places, list) };
}

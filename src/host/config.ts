/**
 * The process's settings: the only reader of `process.env`.
 *
 * `config()` reads once, when it is first asked; what it found stays for the process. A value that cannot be
 * right is an error that names its variable, never ignored.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ArgumentError } from './errors.js';
import { parseSize, type Size } from './parse-size.js';
import { simulatedLibraries, simulatorFolder } from './simulator.js';

export const DEBUG_TOPICS = ['graph', 'passes', 'kernels', 'cuda', 'plan', 'time'] as const;
export type DebugTopic = (typeof DEBUG_TOPICS)[number];

const CPU_ISAS = ['baseline', 'avx2', 'avx512', 'neon'] as const;
export type CpuIsa = (typeof CPU_ISAS)[number];

export interface Config {
  /** `WEFT_DEVICE`: the device a compute uses when it names none. */
  readonly device: string | undefined;
  /**
   * `WEFT_DEVICES`: the GPUs of a compute that names none: `all`, how many, or names with commas between
   * them.
   */
  readonly devices: 'all' | number | readonly string[] | undefined;
  /** `WEFT_DEBUG`: what is printed to stderr, as a list of words. */
  readonly debug: ReadonlySet<DebugTopic>;
  /** `WEFT_DUMP`: a folder that generated sources and plans are written to. */
  readonly dumpFolder: string | undefined;
  /** `WEFT_CACHE`, else `$XDG_CACHE_HOME/weft`, else `~/.cache/weft`; `WEFT_CACHE=off`: no disk cache. */
  readonly cacheFolder: string | undefined;
  /** `WEFT_KERNELS`: a folder of kernels that `precompile()` wrote. */
  readonly kernelFolder: string | undefined;
  /**
   * `WEFT_SCRATCH`, else `$TMPDIR`, else `/var/tmp`: the folder of the files in which values of jobs on the CPU
   * wait that do not fit into their memory.
   */
  readonly scratchFolder: string;
  /** `WEFT_CACHE_BYTES`: the most bytes of compiled kernels kept on disk. */
  readonly cacheByteLimit: number;
  /** `WEFT_THREADS`: threads of the CPU backend; undefined: one for each processor this process may use. */
  readonly threads: number | undefined;
  /** `WEFT_ISA`: the widest instruction set the CPU backend uses. */
  readonly isa: CpuIsa | undefined;
  /** `WEFT_CPU_JIT=off`: loops of elements and chains of arithmetic are interpreted on the CPU, never compiled. */
  readonly compilesLoops: boolean;
  /**
   * `WEFT_POISON=1`: host memory is handed out filled with NaN, and buffers on a GPU are blocks of the
   * driver's own, so that tests and tools see reads of undefined memory and accesses beyond a buffer.
   */
  readonly poison: boolean;
  /**
   * `WEFT_CHECK=1`: kernels that users write as functions are checked on the CPU, for races, reads of elements that
   * nothing wrote, and outputs that are not written; computes on a GPU run on the simulated one.
   */
  readonly checksKernels: boolean;
  /** `WEFT_SIMULATOR`, or the build of this package: the folder of the simulated GPU, where kernels are checked on it. */
  readonly simulatorFolder: string | undefined;
  /**
   * `WEFT_BLAS`: a BLAS library for large products on the CPU, `none`, or `auto`: one must be found;
   * undefined: one if it is found.
   */
  readonly blas: string | undefined;
  /**
   * `WEFT_LAPACK`: a LAPACK library for linear algebra on the CPU, `none`, or `auto`: the BLAS library has to have one;
   * undefined: that of the BLAS library, if it has one.
   */
  readonly lapack: string | undefined;
  /**
   * `WEFT_FFT`: FFTW or MKL for Fourier transforms on the CPU, `none`, or `auto`: one must be found; undefined: one
   * if it is found.
   */
  readonly fft: string | undefined;
  /**
   * `WEFT_MEMORY`: the most bytes of device memory that a compute may hold, where it names no bound itself.
   */
  readonly memory: Size | undefined;
  /**
   * `WEFT_PROCESS_MEMORY`: the most memory of each device that the process may hold, all of its computes
   * together.
   */
  readonly processMemory: Size | undefined;
  /**
   * `WEFT_HOST_MEMORY`: the most bytes of host memory that a compute may take beside arrays and results,
   * likewise.
   */
  readonly hostMemory: Size | undefined;
  /**
   * `WEFT_PANEL_BYTES`: the bytes of a panel of a product that is reduced and not stored; 0: all are stored; undefined: as
   * suits the device.
   */
  readonly panelByteLength: number | undefined;
  /**
   * `WEFT_DEADLINE`: milliseconds that one of several devices may take for a tile before it counts as lost.
   */
  readonly deadline: number;
  /** `WEFT_DECODE_DEADLINE`: milliseconds that the decoding of a file may take without progress. */
  readonly decodeDeadline: number;
  /** `WEFT_DASHBOARD`: the port of a dashboard that begins with the first compute; 0: any that is free. */
  readonly dashboard: number | undefined;
  /** Where the CUDA libraries may be; see `exec/native/cuda-libraries.ts`. */
  readonly cuda: CudaSearchPaths;
}

export interface CudaSearchPaths {
  /**
   * `WEFT_CUDA_DRIVER`, `WEFT_NVRTC`, `WEFT_CUBLAS`, `WEFT_CUBLASLT`, `WEFT_CUTENSOR`, `WEFT_CUFFT`,
   * `WEFT_CUSOLVER`, `WEFT_CUDSS`: this file and no other.
   */
  readonly driver: string | undefined;
  readonly nvrtc: string | undefined;
  readonly cublas: string | undefined;
  readonly cublasLt: string | undefined;
  readonly cutensor: string | undefined;
  readonly cufft: string | undefined;
  readonly cusolver: string | undefined;
  readonly cudss: string | undefined;
  /** `WEFT_CUDA_PATH`, `CUDA_HOME`, `CUDA_PATH`: toolkits, in this order. */
  readonly toolkits: readonly string[];
  /** `VIRTUAL_ENV` and `CONDA_PREFIX`: Python environments, whose packages may hold the libraries. */
  readonly pythonPrefixes: readonly string[];
  /** Folders of `PATH`: a toolkit's or an environment's `bin` says where its libraries are. */
  readonly binFolders: readonly string[];
  readonly home: string | undefined;
  /** The folder of Python packages that `weft setup` has pip install into. */
  readonly packages: string | undefined;
  /** The kind of the environment that is active. */
  readonly environment: 'python' | 'conda' | undefined;
}

const DEFAULT_CACHE_BYTES = 512 * 2 ** 20;
const MAX_THREADS = 1024;
export const MOST_PORT = 65_535;
const DEFAULT_DEADLINE_MS = 120_000;
const DEFAULT_DECODE_DEADLINE_MS = 20_000;

type Environment = Readonly<Record<string, string | undefined>>;

const fail = (name: string, wanted: string, value: string): never => {
  throw new ArgumentError(`[config] expected ${name} to be ${wanted}: ${value}`);
};

function integer(env: Environment, name: string, low: number, high: number): number | undefined {
  const text = env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < low || value > high) {
    return fail(name, `an integer from ${low} to ${high}`, text);
  }
  return value;
}

function word<T extends string>(name: string, text: string, words: readonly T[]): T {
  const found = words.find((candidate) => candidate === text);
  return found ?? fail(name, words.join(', '), text);
}

const given = (...values: readonly (string | undefined)[]): string[] =>
  values.filter((value): value is string => value !== undefined && value !== '');

/** The user's home; none for a user that the system has no entry of, as in containers that run as any user. */
function homeFolder(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

function cacheFolder(env: Environment, home: string | undefined): string | undefined {
  const [chosen] = given(env.WEFT_CACHE);
  if (chosen === 'off') return undefined;
  if (chosen !== undefined) return chosen;
  const [caches = home && join(home, '.cache')] = given(env.XDG_CACHE_HOME);
  return caches && join(caches, 'weft');
}

function packagesFolder(env: Environment, home: string | undefined): string | undefined {
  const [data = home && join(home, '.local', 'share')] = given(env.XDG_DATA_HOME);
  return data && join(data, 'weft');
}

function environmentOf(env: Environment): 'python' | 'conda' | undefined {
  if (given(env.VIRTUAL_ENV).length > 0) return 'python';
  return given(env.CONDA_PREFIX).length > 0 ? 'conda' : undefined;
}

const DEVICE = /^(cpu|cuda(:\d{1,3})?)$/;

function device(text: string | undefined): string | undefined {
  if (text === undefined || DEVICE.test(text)) return text;
  return fail('WEFT_DEVICE', "'cpu', 'cuda' or 'cuda:N'", text);
}

function devices(text: string | undefined): Config['devices'] {
  if (text === undefined || text === 'all') return text;
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => DEVICE.test(name))) return names;
  return fail('WEFT_DEVICES', "'all', how many GPUs, or names with commas between them", text);
}

function memory(env: Environment, name: string): Size | undefined {
  const [text] = given(env[name]);
  if (text === undefined) return undefined;
  try {
    return parseSize('config', text);
  } catch {
    return fail(name, "a size above 0 in bytes, or text such as '2GiB' or '50%'", text);
  }
}

/** Reads settings from an environment; for tests, which have their own. */
export function readConfig(env: Environment, home: string | undefined = homeFolder()): Config {
  const [isa] = given(env.WEFT_ISA);
  const [jit] = given(env.WEFT_CPU_JIT);
  const checksKernels = integer(env, 'WEFT_CHECK', 0, 1) === 1;
  // A driver that is named stands alone.
  const isReplaced = checksKernels && given(env.WEFT_CUDA_DRIVER)[0] === undefined;
  const simulated = isReplaced ? simulatorFolder(given(env.WEFT_SIMULATOR)[0]) : undefined;
  return {
    device: device(given(env.WEFT_DEVICE)[0]),
    devices: devices(given(env.WEFT_DEVICES)[0]),
    debug: new Set(
      given(...(env.WEFT_DEBUG ?? '').split(',')).map((t) => word('WEFT_DEBUG', t.trim(), DEBUG_TOPICS)),
    ),
    dumpFolder: given(env.WEFT_DUMP)[0],
    cacheFolder: simulated === undefined ? cacheFolder(env, home) : undefined,
    kernelFolder: given(env.WEFT_KERNELS)[0],
    scratchFolder: given(env.WEFT_SCRATCH, env.TMPDIR)[0] ?? '/var/tmp',
    cacheByteLimit: integer(env, 'WEFT_CACHE_BYTES', 0, Number.MAX_SAFE_INTEGER) ?? DEFAULT_CACHE_BYTES,
    threads: integer(env, 'WEFT_THREADS', 1, MAX_THREADS),
    isa: isa === undefined ? undefined : word('WEFT_ISA', isa, CPU_ISAS),
    compilesLoops: jit === undefined || word('WEFT_CPU_JIT', jit, ['on', 'off']) === 'on',
    poison: integer(env, 'WEFT_POISON', 0, 1) === 1 || simulated !== undefined,
    checksKernels,
    simulatorFolder: simulated,
    blas: given(env.WEFT_BLAS)[0],
    lapack: given(env.WEFT_LAPACK)[0],
    fft: given(env.WEFT_FFT)[0],
    memory: memory(env, 'WEFT_MEMORY'),
    processMemory: memory(env, 'WEFT_PROCESS_MEMORY'),
    hostMemory: memory(env, 'WEFT_HOST_MEMORY'),
    panelByteLength: integer(env, 'WEFT_PANEL_BYTES', 0, Number.MAX_SAFE_INTEGER),
    deadline: integer(env, 'WEFT_DEADLINE', 1, Number.MAX_SAFE_INTEGER) ?? DEFAULT_DEADLINE_MS,
    decodeDeadline:
      integer(env, 'WEFT_DECODE_DEADLINE', 1, Number.MAX_SAFE_INTEGER) ?? DEFAULT_DECODE_DEADLINE_MS,
    dashboard: integer(env, 'WEFT_DASHBOARD', 0, MOST_PORT),
    cuda: {
      driver: given(env.WEFT_CUDA_DRIVER)[0],
      nvrtc: given(env.WEFT_NVRTC)[0],
      cublas: given(env.WEFT_CUBLAS)[0],
      cublasLt: given(env.WEFT_CUBLASLT)[0],
      cutensor: given(env.WEFT_CUTENSOR)[0],
      cufft: given(env.WEFT_CUFFT)[0],
      cusolver: given(env.WEFT_CUSOLVER)[0],
      cudss: given(env.WEFT_CUDSS)[0],
      ...(simulated === undefined ? {} : simulatedLibraries(simulated)),
      toolkits: given(env.WEFT_CUDA_PATH, env.CUDA_HOME, env.CUDA_PATH),
      pythonPrefixes: given(env.VIRTUAL_ENV, env.CONDA_PREFIX),
      binFolders: given(...(env.PATH ?? '').split(':')),
      home,
      packages: packagesFolder(env, home),
      environment: environmentOf(env),
    },
  };
}

let current: Config | undefined;

/** The process's settings. */
export function config(): Config {
  current ??= readConfig(process.env);
  return current;
}

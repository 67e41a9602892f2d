/**
 * Doctor: what Weft found on this machine, whether it works, and for what is missing, what that costs and how
 * to get it. Devices are tried with a small compute. `cli.ts` prints it; the JSON form is the report itself,
 * and stable.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import {
  type CpuInfo,
  type CudaDeviceInfo,
  type CudaInfo,
  cpuInfo,
  cudaInfo,
  refusesLoops,
} from '../exec/native/native.js';
import { hasConditionalNodes } from '../exec/plan/loop-records.js';
import { ImageFolder } from '../exec/run/image-folder.js';
import { gpu } from '../exec/targets/device.js';
import { chooseDevice, problemOf } from '../exec/targets/devices.js';
import { formatBytes } from '../graph/format.js';
import { config } from '../host/config.js';
import { NativeError } from '../host/errors.js';
import { PACKAGE_FOLDER } from '../host/package-folder.js';
import { lazy, whileLoop } from '../index.js';
import { cudssFinding, cutensorFinding, driverFinding, libraryFindings } from './cuda-findings.js';
import type { Finding } from './finding.js';
import { warmUp } from './warm.js';

export interface DoctorReport {
  readonly version: string;
  /** Whether computes run on the CPU: then Weft works, with or without a GPU. */
  readonly cpuWorks: boolean;
  /** The device of a compute that names none, and why; null: none works. */
  readonly device: { readonly name: string; readonly reason: string } | null;
  readonly findings: readonly Finding[];
}

/** Weft's version, of its package. */
export function weftVersion(): string {
  const manifest = readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** The state of this machine; `warms`: with uses of libraries, which take seconds where they are the first ones. */
export async function examine(warms = false): Promise<DoctorReport> {
  const version = weftVersion();
  const wrong = settingsFinding();
  if (wrong !== undefined) return { version, cpuWorks: false, device: null, findings: [runtime(), wrong] };
  const cpu = await examineCpu();
  const findings = [runtime(), ...cpu.findings];
  const device = cpu.loaded ? defaultDevice(findings) : null;
  if (cpu.loaded) findings.push(...(await examineGpu(cudaInfo())));
  findings.push(await examineCache());
  if (warms && cpu.works) findings.push(...(await warmUp()));
  return { version, cpuWorks: cpu.works, device, findings };
}

/** A setting that cannot be right stops every compute. */
function settingsFinding(): Finding | undefined {
  try {
    config();
    return undefined;
  } catch (error) {
    return {
      area: 'runtime',
      name: 'settings',
      status: 'broken',
      value: messageOf(error),
      cost: 'nothing can be computed',
      remedy: 'correct or unset the variable that it names',
    };
  }
}

function runtime(): Finding {
  const { version, arch, platform, versions } = process;
  return {
    area: 'runtime',
    name: 'Node.js',
    status: 'found',
    value: `${version}, ${platform} ${arch}, Node-API ${versions.napi}`,
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The device of a compute that names none. One that was set and cannot be used is a finding. */
function defaultDevice(findings: Finding[]): DoctorReport['device'] {
  try {
    const { device, reason } = chooseDevice(undefined, new Set());
    return { name: device.name, reason };
  } catch (error) {
    findings.push({
      area: 'runtime',
      name: 'WEFT_DEVICE',
      status: 'broken',
      value: messageOf(error),
      cost: 'computes that name no device fail',
      remedy: 'unset it, or name a device that works',
    });
    return null;
  }
}

/** Runs a small program; says what went wrong. */
async function tryDevice(device: string): Promise<string | undefined> {
  try {
    const result = await lazy(new Float32Array([1, 2, 3]))
      .mul(2)
      .sum()
      .compute({ device });
    return result.item() === 12 ? undefined : `a sum that is 12 came out as ${result.item()}`;
  } catch (error) {
    return messageOf(error);
  }
}

// ---------------------------------------------------------------- the CPU

interface CpuResult {
  readonly loaded: boolean;
  readonly works: boolean;
  readonly findings: readonly Finding[];
}

async function examineCpu(): Promise<CpuResult> {
  let info: CpuInfo;
  try {
    info = cpuInfo();
  } catch (error) {
    return { loaded: false, works: false, findings: [noAddon(error)] };
  }
  const problem = await tryDevice('cpu');
  const findings: Finding[] = [
    { area: 'runtime', name: 'Weft addon', status: 'found', value: 'loaded' },
    {
      area: 'cpu',
      name: 'CPU backend',
      status: problem === undefined ? 'found' : 'broken',
      value:
        problem ?? `works: ${info.isa} instructions, ${info.threads} of ${availableParallelism()} threads`,
    },
    elementLoops(info),
    vectorMath(info),
    blas(info),
    lapack(info),
    fourier(info),
  ];
  return { loaded: true, works: problem === undefined, findings };
}

const noAddon = (error: unknown): Finding => {
  const about = { area: 'runtime', name: 'Weft addon', cost: 'nothing can be computed' } as const;
  if (!(error instanceof NativeError)) return { ...about, status: 'broken', value: messageOf(error) };
  const status = error.cause === undefined ? 'missing' : 'broken';
  return { ...about, status, value: error.problem, remedy: error.remedy };
};

const elementLoops = ({ compilesLoops, isa }: CpuInfo): Finding => {
  const about = { area: 'cpu', name: 'loops of elements' } as const;
  if (compilesLoops) return { ...about, status: 'found', value: `compiled to ${isa} instructions` };
  const isOff = !config().compilesLoops;
  const hasCode = isa !== 'baseline';
  return {
    ...about,
    status: 'missing',
    value: isOff
      ? 'interpreted: WEFT_CPU_JIT is off'
      : hasCode
        ? 'interpreted: the system gives no executable memory'
        : `interpreted: there is no code for ${isa} instructions`,
    cost: 'functions with loops that depend on data take several times as long, chains of arithmetic up to twice',
  };
};

const vectorMath = ({ vectorMath: library }: CpuInfo): Finding =>
  library === null
    ? {
        area: 'cpu',
        name: 'vector mathematics',
        status: 'missing',
        value: "no libmvec: Weft's own functions are used",
        cost: 'exp, sin, log and the like take several times as long',
        remedy: 'it is part of glibc 2.35 and later on x86-64 (libmvec.so.1)',
      }
    : { area: 'cpu', name: 'vector mathematics', status: 'found', value: library };

const blas = ({ blas: library }: CpuInfo): Finding => ({
  area: 'cpu',
  name: 'matrix products',
  status: 'found',
  value:
    library === null
      ? "Weft's own kernels: no BLAS library for this processor was found, or WEFT_BLAS=none"
      : `${library.name}, ${library.path}`,
  ...(library === null
    ? {
        remedy:
          'for a library instead: pip install scipy-openblas64, in a virtual environment that is active, or apt install libopenblas0, or name the file in WEFT_BLAS',
      }
    : {}),
});

const lapack = ({ blas: products, lapack: library }: CpuInfo): Finding => {
  const about = { area: 'cpu', name: 'linear algebra', status: 'found' } as const;
  const own = "Weft's own routines";
  if (library === null) {
    const reason = products === null ? 'no LAPACK library was found' : `${products.name} has no LAPACK`;
    return {
      ...about,
      value: `${own}: ${reason}, or WEFT_LAPACK=none`,
      remedy:
        'for a library instead: pip install scipy-openblas64, in a virtual environment that is active, or apt install libopenblas0, or name the file in WEFT_LAPACK',
    };
  }
  const { name, path, missing } = library;
  const lacks = missing.length === 0 ? '' : `; ${own} for ${missing.join(', ')}, which it lacks`;
  return { ...about, value: `${name}, ${path}${lacks}` };
};

const fourier = ({ fft: { float32, float64 } }: CpuInfo): Finding => {
  const found = [float32, float64].filter((library) => library !== null);
  const libraries = [...new Map(found.map((library) => [library.path, library])).values()];
  return {
    area: 'cpu',
    name: 'Fourier transforms',
    status: 'found',
    value:
      libraries.length === 0
        ? "Weft's own: neither FFTW nor MKL was found, or WEFT_FFT=none"
        : libraries.map(({ name, path }) => `${name}, ${path}`).join('; '),
    ...(found.length === 2
      ? {}
      : {
          remedy:
            'for a library instead, which takes some 0.6 of the time for rows of 256, 512, 1024 and 2048 elements: apt install libfftw3-double3 libfftw3-single3, or pip install pyfftw, in a virtual environment that is active, or name the file in WEFT_FFT',
        }),
  };
};

// ---------------------------------------------------------------- GPUs

async function examineGpu(info: CudaInfo): Promise<Finding[]> {
  const devices = await Promise.all(info.devices.map((device, ordinal) => describeGpu(device, ordinal)));
  const conditions = info.devices.length === 0 ? [] : [await loopConditions(info)];
  const libraries = [...libraryFindings(info), cutensorFinding(info), cudssFinding(info)];
  return [driverFinding(info), ...devices, ...libraries, ...conditions];
}

async function loopConditions(info: CudaInfo): Promise<Finding> {
  const about = { area: 'gpu', name: 'loop conditions' } as const;
  const cost = 'a step of whileLoop takes about 10 microseconds more';
  if (!hasConditionalNodes(info))
    return {
      ...about,
      status: 'missing',
      value: 'no conditional nodes in CUDA graphs: read back in each step',
      cost,
      remedy: 'a driver and an NVRTC of CUDA 12.4 or later',
    };
  const refusing: string[] = [];
  for (const { device } of info.devices) if (await refusesLoop(device)) refusing.push(device);
  if (refusing.length === 0)
    return {
      ...about,
      status: 'found',
      value: 'looked at on the device, where the body of a loop is kernels',
    };
  return {
    ...about,
    status: 'broken',
    value: `the driver refuses graphs with loops on ${refusing.join(', ')}: read back in each step`,
    cost,
    remedy: 'another driver',
  };
}

/**
 * Whether a device cannot decide on a loop of more steps than are taken before it is asked to; one that fails
 * is reported elsewhere.
 */
async function refusesLoop(device: string): Promise<boolean> {
  const steps = 20;
  const count = whileLoop(
    (x) => x.max().less(steps),
    (x) => x.add(1),
    lazy(new Int32Array(2)),
  );
  await count.compute({ device }).catch(() => undefined);
  return refusesLoops(device);
}

async function describeGpu(info: CudaDeviceInfo, ordinal: number): Promise<Finding> {
  const about = { area: 'gpu', name: info.device } as const;
  const problem = problemOf(gpu(ordinal)) ?? (await tryDevice(info.device));
  if (info.error !== undefined) return { ...about, status: 'broken', value: info.error };
  const text = `${info.name}, compute capability ${info.computeCapability.join('.')}, ${formatBytes(info.totalBytes)}, ${info.multiprocessorCount} multiprocessors`;
  return problem === undefined
    ? { ...about, status: 'found', value: `works: ${text}` }
    : { ...about, status: 'broken', value: `${text}: ${problem}` };
}

// ---------------------------------------------------------------- the kernel cache

async function examineCache(): Promise<Finding> {
  const about = { area: 'cache', name: 'kernel cache' } as const;
  const { cacheFolder, cacheByteLimit } = config();
  const cost = 'every process compiles its GPU kernels again, about 0.1 s for each';
  if (cacheFolder === undefined) {
    return {
      ...about,
      status: 'missing',
      value: 'off',
      cost,
      remedy: 'unset WEFT_CACHE, or give it a folder',
    };
  }
  const folder = new ImageFolder(cacheFolder, cacheByteLimit);
  if (!(await folder.usable())) {
    const remedy = 'set WEFT_CACHE to a folder that is yours and that others may not write to';
    return { ...about, status: 'broken', value: folder.problem ?? cacheFolder, cost, remedy };
  }
  const files = readdirSync(cacheFolder).filter((name) => name.endsWith('.image'));
  const bytes = files.reduce((sum, name) => sum + sizeOf(join(cacheFolder, name)), 0);
  const held = `${files.length} kernels, ${formatBytes(bytes)} of ${formatBytes(cacheByteLimit)}`;
  return { ...about, status: 'found', value: `${cacheFolder}: ${held}` };
}

/** Another process may have dropped the file. */
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

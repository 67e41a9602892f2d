/** The libraries of CUDA that were found, for what is missing the cost, and how to get it. */
import type { CudaInfo } from '../exec/native/native.js';
import { config } from '../host/config.js';
import type { Finding } from './finding.js';

/** The driver of NVIDIA's GPUs. */
export function driverFinding({ driver: found, devices, tried }: CudaInfo): Finding {
  const about = { area: 'gpu', name: 'NVIDIA driver' } as const;
  if (found === null) {
    return {
      ...about,
      status: 'missing',
      value: 'libcuda.so.1 was not found',
      cost: 'nothing runs on a GPU; the CPU computes',
      remedy:
        'on a machine with an NVIDIA GPU install its driver; in a container start it with the NVIDIA Container Toolkit (--gpus all)',
      tried: tried.driver,
    };
  }
  const value = `CUDA ${found.version}, ${found.path}`;
  if (found.error !== undefined || devices.length === 0) {
    return {
      ...about,
      status: 'broken',
      value: `${value}: ${found.error ?? 'it shows no device'}`,
      cost: 'nothing runs on a GPU; the CPU computes',
      remedy: 'see whether nvidia-smi lists the GPUs, and whether CUDA_VISIBLE_DEVICES hides them',
    };
  }
  return { ...about, status: 'found', value };
}

/** The libraries that kernels, products, Fourier transforms and factors of matrices take, and that `weft setup` gets. */
export const libraryFindings = (info: CudaInfo): Finding[] => [
  nvrtc(info),
  cublas(info),
  cublasLt(info),
  cufft(info),
  cusolver(info),
];

function nvrtc({ nvrtc: found, tried }: CudaInfo): Finding {
  const about = { area: 'gpu', name: 'NVRTC' } as const;
  const { kernelFolder } = config();
  const cost =
    kernelFolder === undefined
      ? 'no kernel can be compiled, so no GPU can be used'
      : `no kernel can be compiled, so a GPU can be used for those in ${kernelFolder} alone`;
  const remedy =
    '"npx weft setup" says what to run (pip install nvidia-cuda-nvrtc), or a CUDA toolkit, or name the file in WEFT_NVRTC';
  if (found === null)
    return { ...about, status: 'missing', value: 'libnvrtc was not found', cost, remedy, tried: tried.nvrtc };
  const value = `${found.version}, ${found.path}`;
  if (found.builtins === null) {
    return {
      ...about,
      status: 'broken',
      value: `${value}: libnvrtc-builtins is not beside it`,
      cost,
      remedy,
    };
  }
  const [least, most] = [Math.min(...found.architectures), Math.max(...found.architectures)];
  return { ...about, status: 'found', value: `${value}, for sm_${least} to sm_${most}` };
}

const cublas = ({ cublas: found, tried }: CudaInfo): Finding =>
  found === null
    ? {
        area: 'gpu',
        name: 'cuBLAS',
        status: 'missing',
        value: 'libcublas was not found',
        cost: 'matrix products on a GPU fail with an error; all else works there',
        remedy:
          '"npx weft setup" says what to run (pip install nvidia-cublas), or a CUDA toolkit, or name the file in WEFT_CUBLAS',
        tried: tried.cublas,
      }
    : { area: 'gpu', name: 'cuBLAS', status: 'found', value: `${found.version}, ${found.path}` };

const cublasLt = ({ cublasLt: found, tried }: CudaInfo): Finding =>
  found === null
    ? {
        area: 'gpu',
        name: 'cuBLASLt',
        status: 'missing',
        value: 'libcublasLt was not found',
        cost: 'matrix products that are scaled, added to or activated fail on a GPU with an error',
        remedy: 'it comes with cuBLAS (pip install nvidia-cublas), or name the file in WEFT_CUBLASLT',
        tried: tried.cublasLt,
      }
    : { area: 'gpu', name: 'cuBLASLt', status: 'found', value: `${found.version}, ${found.path}` };

const cufft = ({ cufft: found, tried }: CudaInfo): Finding =>
  found === null
    ? {
        area: 'gpu',
        name: 'cuFFT',
        status: 'missing',
        value: 'libcufft was not found',
        cost: 'Fourier transforms on a GPU fail with an error; all else works there',
        remedy:
          '"npx weft setup" says what to run (pip install nvidia-cufft), or a CUDA toolkit, or name the file in WEFT_CUFFT',
        tried: tried.cufft,
      }
    : { area: 'gpu', name: 'cuFFT', status: 'found', value: `${found.version}, ${found.path}` };

const cusolver = ({ cusolver: found, tried }: CudaInfo): Finding =>
  found === null
    ? {
        area: 'gpu',
        name: 'cuSOLVER',
        status: 'missing',
        value: 'libcusolver was not found',
        cost: 'linear algebra (linalg) on a GPU fails with an error; all else works there',
        remedy:
          '"npx weft setup" says what to run (pip install nvidia-cusolver), or a CUDA toolkit, or name the file in WEFT_CUSOLVER',
        tried: tried.cusolver,
      }
    : { area: 'gpu', name: 'cuSOLVER', status: 'found', value: `${found.version}, ${found.path}` };

/** cuDSS, without which all works. */
export function cudssFinding({ cudss: found, tried }: CudaInfo): Finding {
  const about = { area: 'gpu', name: 'cuDSS' } as const;
  if (found === null)
    return {
      ...about,
      status: 'missing',
      value: 'libcudss.so.1 was not found',
      cost: 'sparse.spsolve, factorized and cholesky have the CPU make the factors, also for a GPU',
      remedy:
        'pip install nvidia-cudss-cu13 (CUDA 12: nvidia-cudss-cu12), or name the file in WEFT_CUDSS; it loads cuBLAS and NVRTC of the same CUDA',
      tried: tried.cudss,
    };
  const { version, path, threads, triedThreads } = found;
  const value = `${version}, ${path}`;
  if (threads !== null)
    return { ...about, status: 'found', value: `${value}, unknowns ordered by threads of ${threads}` };
  const isThere = triedThreads.length > 0;
  return {
    ...about,
    status: 'found',
    value: `${value}, unknowns ordered by one thread: libcudss_mtlayer_gomp.so.1 ${isThere ? 'does not load' : 'is not beside it'}`,
    cost: 'the first factors of a large sparse matrix take several times as long',
    remedy: isThere
      ? 'install the GNU OpenMP library, libgomp.so.1 (package libgomp1)'
      : "it comes in cuDSS's packages: put it beside the file in WEFT_CUDSS",
    tried: triedThreads,
  };
}

/** cuTENSOR, without which all works. */
export const cutensorFinding = ({ cutensor: found, tried }: CudaInfo): Finding =>
  found === null
    ? {
        area: 'gpu',
        name: 'cuTENSOR',
        status: 'missing',
        value: 'libcutensor.so.2 was not found',
        cost: 'contractions whose axes are in no order for cuBLAS copy their operands first; explain() says how many bytes',
        remedy:
          'pip install cutensor-cu13 (CUDA 12: cutensor-cu12), or name the file in WEFT_CUTENSOR; it loads cuBLASLt of the same CUDA',
        tried: tried.cutensor,
      }
    : { area: 'gpu', name: 'cuTENSOR', status: 'found', value: `${found.version}, ${found.path}` };

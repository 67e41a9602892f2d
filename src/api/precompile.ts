/** Compiling kernels ahead: `await precompile(z, { architectures: ['sm_90'], folder: 'kernels' })`. */
import { precompileExprs } from '../exec/run/precompile.js';
import { probeFor } from '../exec/targets/devices.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { formatValue } from '../graph/format.js';
import { ArgumentError, expected } from '../host/errors.js';
import { calledAsync } from '../host/site.js';
import { type Arrays, exprsOf, type ListOfArrays } from './compute.js';
import { Lazy } from './lazy.js';

/** Options of `precompile`. */
export interface PrecompileOptions {
  /** The architectures of GPUs, as NVRTC names them: `['sm_80', 'sm_90']`. They need not be here. */
  readonly architectures: readonly string[];
  /** The folder that kernels are written to; it is made if it is not there, and may have others in it. */
  readonly folder: string;
  /** As of the computes to come. */
  readonly memory?: number | string | undefined;
  readonly hostMemory?: number | string | undefined;
  readonly exact?: boolean | undefined;
}

/** The result of `precompile`: the kernels written. */
export interface PrecompiledKernels {
  readonly folder: string;
  /** The kernels, those of all architectures together. */
  readonly kernels: number;
}

const OPTIONS = ['architectures', 'folder', 'memory', 'hostMemory', 'exact'];

/**
 * Compiles the kernels of a compute of these arrays for GPUs of the architectures that are named, and writes them into
 * a folder. Where the setting `WEFT_KERNELS` names that folder, they are used as they are, and a GPU computes without
 * NVRTC. Nothing is computed, and no GPU is needed: arrays may be built on `placeholder`s. NVRTC is.
 *
 * Kernels depend on dtypes and on the form of the graph; most take sizes as arguments, and some are made for the sizes
 * of reduced axes, so give the shapes of the computes to come. Those of one device are written. A kernel that is not
 * there, on a machine without NVRTC, is a DeviceError of the compute.
 *
 * Rejects with an ArgumentError for an architecture that NVRTC does not compile for, with a DeviceError where there is no
 * NVRTC, and with a FileError for a folder that cannot be written to, or that others may write to.
 *
 * @example
 * const x = placeholder([4096, 256], 'float32').softmax(1)
 * const build = () => precompile(x, { architectures: ['sm_80', 'sm_90'], folder: 'kernels' })
 * await precompile(x, { architectures: [], folder: 'kernels' })
 * //=> throws ArgumentError: [precompile] expected architectures as a list of names such as 'sm_90': []
 */
export function precompile(
  arrays: Lazy | ListOfArrays,
  options: PrecompileOptions,
): Promise<PrecompiledKernels>;
/** The same of arrays in an object, or in lists and objects in each other. */
export function precompile<const T extends object>(
  arrays: T & Arrays<T>,
  options: PrecompileOptions,
): Promise<PrecompiledKernels>;
export async function precompile(
  arrays: unknown,
  options: PrecompileOptions,
  ...more: readonly unknown[]
): Promise<PrecompiledKernels> {
  return await calledAsync(precompile, async () => {
    refuseMore('precompile', 2, [arrays, options, ...more]);
    const [exprs] = exprsOf('precompile', arrays instanceof Lazy ? [arrays] : arrays);
    checkOptions('precompile', options, OPTIONS);
    const { architectures, folder, ...own } = options ?? ({} as Partial<PrecompileOptions>);
    if (!Array.isArray(architectures) || architectures.length === 0)
      throw new ArgumentError(
        expected(
          'precompile',
          "architectures as a list of names such as 'sm_90'",
          formatValue(architectures),
        ),
      );
    if (typeof folder !== 'string' || folder === '')
      throw new ArgumentError(expected('precompile', 'folder as the path of a folder', formatValue(folder)));
    await probeFor('cuda');
    return { folder, kernels: await precompileExprs(exprs, architectures, folder, own) };
  });
}

/** Kernels of the user's own, with blocks, threads and shared memory: `kernel`. */
import { refuseMore } from '../graph/arguments.js';
import { called } from '../host/site.js';
import { type AnyKernelOptions, DeclaredKernel } from './declared-kernel.js';
import type { KernelBody } from './kernel-functions.js';
import type { KernelInputs } from './kernel-options.js';
import type { KernelFunction, KernelFunctionOptions, KernelOptions, KernelOutputs } from './kernel-types.js';

/**
 * A kernel with blocks, threads and shared memory as a function of arrays: a node like any other, which is planned
 * within the budget, put into streams and graphs, timed and explained. It is written in CUDA C, for GPUs, or as a
 * function of JavaScript, for GPUs and the CPU.
 *
 * **As a function**: it is not called; its source is read as that of `elementwise`, whose language it has. Its first
 * parameter has `threadIdx`, `blockIdx`, `blockDim`, `gridDim`, `shared(dtype, size)`, `sync()` and `atomicAdd` and
 * its like; the others are the inputs, then the outputs. `x[i]` is an element in C order, `x.at(i, j)` one by its axes,
 * `x.length` and `x.shape` its sizes. Integers without a dtype (literals, places, counters) have 32 bits, and 64 where an
 * array has 2^31 elements. On the CPU blocks run side by side on all cores, and indices out of range are an error with
 * line and column; on a GPU they are not looked at. `WEFT_CHECK=1` finds races on the CPU.
 *
 * **In CUDA C**: compiled by NVRTC for each device, once, and kept on disk. Arrays are passed by address, as pointers
 * to their dtype (`const float*`, for complex64 a struct of two), scalars by value. The CPU refuses it.
 *
 * Grids, blocks, shapes and dtypes may follow from shapes: `({ x }) => Math.ceil(x.size / 256)`. An output with
 * `initial` holds a number, or an input's elements, before the kernel runs, so that it may add to them. Results have
 * the bits that the kernel gives: atomic operations on floats may give others each time.
 *
 * Throws an ArgumentError, a DTypeError, a ShapeError or a RangeArgumentError for functions, declarations and arguments
 * that do not fit. `compute` rejects with a CompileError for CUDA C that does not compile, with its line in your file,
 * with an ArgumentError for an index out of range on the CPU, with a DeviceError for CUDA C without a GPU.
 *
 * @example
 * const saxpy = kernel(
 *   ({ blockIdx, blockDim, threadIdx }, a, x, y, out) => {
 *     const i = blockIdx.x * blockDim.x + threadIdx.x;
 *     if (i < x.length) out[i] = a * x.at(i) + y.at(i);
 *   },
 *   {
 *     inputs: { a: { scalar: 'float32' }, x: 'float32', y: 'float32' },
 *     outputs: { out: { dtype: 'float32', shape: ({ x }) => x.shape } },
 *     grid: ({ x }) => Math.ceil(x.size / 256),
 *     block: 256,
 *   },
 * );
 * console.log(await saxpy(2, [1, 2, 3], [10, 20, 30]).compute());
 * //=> [12. 24. 36.]
 * const negated = kernel(
 *   `extern "C" __global__ void negated(const float* x, float* y, int n) {
 *     int i = blockIdx.x * blockDim.x + threadIdx.x;
 *     if (i < n) y[i] = -x[i];
 *   }`,
 *   {
 *     inputs: { x: 'float32', n: { scalar: 'int32' } },
 *     outputs: { y: { dtype: 'float32', shape: ({ x }) => x.shape } },
 *     parameters: ['x', 'y', 'n'],
 *     grid: ({ n }) => Math.ceil(n / 256),
 *     block: 256,
 *   },
 * );
 * console.log(negated([1, 2, 3], 3).shape);
 * //=> [ 3 ]
 */
export function kernel<const Inputs extends KernelInputs, const Outputs extends KernelOutputs<Inputs>>(
  fn: KernelBody,
  options: KernelFunctionOptions<Inputs, Outputs>,
): KernelFunction<Outputs>;
export function kernel<const Inputs extends KernelInputs, const Outputs extends KernelOutputs<Inputs>>(
  source: string,
  options: KernelOptions<Inputs, Outputs>,
): KernelFunction<Outputs>;
export function kernel(source: string | KernelBody, options: object, ...more: readonly unknown[]): unknown {
  return called(kernel, () => {
    refuseMore('kernel', 2, [source, options, ...more]);
    const made = new DeclaredKernel(source, options as AnyKernelOptions);
    const apply = (...args: readonly unknown[]): unknown => called(apply, () => made.apply(args));
    return apply;
  });
}

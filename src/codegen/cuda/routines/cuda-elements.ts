/**
 * A function of scalars in CUDA C as a kernel of its own, where it has all elements of an array at hand: a thread for
 * each element of the results.
 */
import type { CudaFunction } from '../../../graph/loop-step.js';
import { ELEMENTS_THREADS } from '../../../graph/user-kernel.js';
import { fromStorage, STORAGE_TYPE, toStorage } from '../casts.js';
import { cudaFunctionName, cudaFunctions, rawType } from '../cuda-functions.js';
import { preludeFor } from '../prelude/prelude.js';
import { Writer } from '../writer.js';

export const ELEMENTS_NAME = 'weft_elements';

/**
 * The arguments are the first block of a part, inputs, outputs, the number of elements, then of each array that is
 * read as a whole its number of elements and its sizes. `ndims`: of the inputs.
 */
export function printElements(own: CudaFunction, ndims: readonly number[]): string {
  const name = cudaFunctionName(own);
  const arrays = own.parameters.slice(0, ndims.length);
  const inputs = arrays.map(({ dtype, raw }, k) => `const ${STORAGE_TYPE[raw ?? dtype]}* x${k}`);
  const outputs = own.results.map(({ dtype }, k) => `${STORAGE_TYPE[dtype]}* y${k}`);
  const sizes = arrays.flatMap(({ raw }, k) =>
    raw === undefined
      ? []
      : [
          `long long count${k}`,
          ...Array.from({ length: ndims[k]! }, (_, axis) => `long long size${k}_${axis}`),
        ],
  );
  const declared = ['unsigned int firstBlock', ...inputs, ...outputs, 'long long n', ...sizes];
  const values = arrays.map(({ dtype, raw }, k) => {
    if (raw === undefined) return fromStorage(dtype, `x${k}[i]`);
    const along = Array.from({ length: ndims[k]! }, (_, axis) => `size${k}_${axis}`).join(', ');
    return `${rawType(name, k)}{x${k}, count${k}, {${along}}}`;
  });
  const numbers = own.parameters.slice(ndims.length).map((each) => each.name);
  const out = new Writer();
  out.block(`extern "C" __global__ void ${ELEMENTS_NAME}(${declared.join(', ')})`, () => {
    out.line(`const long long i = ((long long)firstBlock + blockIdx.x) * ${ELEMENTS_THREADS} + threadIdx.x;`);
    out.line('if (i >= n) return;');
    out.line(`const ${name}_states made = ${name}(${[...values, ...numbers].join(', ')});`);
    own.results.forEach(({ dtype }, k) => {
      out.line(`y${k}[i] = ${toStorage(dtype, `made.s${k}`)};`);
    });
  });
  const text = `${cudaFunctions([own])}${out.toString()}`;
  return `${preludeFor(text)}${text}`;
}

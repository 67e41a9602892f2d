/** Kernels of users' own: declarations, arguments, and errors that a user can act on. */
import { describe, expect, it } from 'vitest';
import { lazy } from '../src/api/creation.js';
import { kernel } from '../src/api/kernels.js';
import { CUDA_OPTIONS } from '../src/codegen/cuda/cuda.js';
import { printUserKernel } from '../src/codegen/cuda/routines/user-kernel.js';
import { kernelSource } from '../src/codegen/cuda/source.js';
import { headerFolder } from '../src/exec/native/cuda-headers.js';
import { compileCuda } from '../src/exec/native/native.js';
import { loadSource } from '../src/exec/targets/cuda-images.js';
import { canonicalize } from '../src/fusion/passes/canonicalize.js';
import type { Expr } from '../src/graph/expr.js';
import type { CudaCode } from '../src/graph/user-kernel.js';
import * as cuda from './support/cuda-kernels.js';
import { whyNoNvrtc, withoutNvrtc } from './support/nvrtc.js';

const SOURCE = `extern "C" __global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
/* __global__ void old() {} */
`;
const options = {
  inputs: { x: 'float32', n: { scalar: 'int32' } },
  outputs: { y: { dtype: 'float32', shape: ({ n }: { n: number }) => n } },
  parameters: ['x', 'y', 'n'],
  grid: ({ n }: { n: number }) => Math.ceil(n / 4),
  block: 4,
} as const;
const copy = kernel(SOURCE, options);
const x = lazy([1, 2, 3]).astype('float32');

/** A kernel with some other options. */
const other = (changes: object) => () => kernel(SOURCE, { ...options, ...changes } as typeof options);

describe('the declaration of a kernel', () => {
  it('takes the only kernel of the source that is no comment, or one by name', () => {
    expect(other({ name: 'copy' })).not.toThrow();
    expect(other({ name: 'old' })).toThrow("[kernel] expected a kernel of the source, copy: 'old'");
    expect(() => kernel('int f();', options)).toThrow(
      'the name of one kernel of the source: no __global__ function',
    );
    const template = 'template <typename T> __global__ void f(T* y) {}';
    expect(() => kernel(template, options)).toThrow(
      "an instantiation of the template f: no name (name: 'f<float>')",
    );
    expect(() => kernel(7 as never, options)).toThrow('[kernel] expected a function or CUDA C: 7');
  });

  it('names what does not fit in it', () => {
    expect(other({ inputs: { x: 'float31' } })).toThrow(
      'a dtype, { dtype, ndim } or { scalar } for the input x',
    );
    expect(other({ outputs: {} })).toThrow('outputs by name');
    expect(other({ outputs: { y: { dtype: 'float32' } } })).toThrow(
      '{ dtype, shape } or { initial } for the output y: no shape',
    );
    expect(other({ outputs: { y: { initial: 'z' } } })).toThrow(
      'an array among the inputs that y begins as: z',
    );
    expect(other({ outputs: { x: { dtype: 'int8', shape: 1 } } })).toThrow(
      'names that inputs and outputs do not share: x',
    );
    expect(other({ parameters: ['x', 'y'] })).toThrow('n among the parameters');
    expect(other({ parameters: ['x', 'y', 'n', 'm'] })).toThrow('parameters of x, n, y, each once');
    expect(other({ grid: undefined })).toThrow('[kernel] expected a grid: none');
    expect(other({ threads: 3 })).toThrow('threads');
    expect(other({ options: ['fast'] })).toThrow('options of NVRTC, which begin with -');
  });
});

describe('the arguments of a kernel', () => {
  it('are as many as its inputs, of their dtypes, ranks and ranges', () => {
    expect(copy(x, 3).shape).toEqual([3]);
    expect(() => copy(x)).toThrow('[kernel] expected 2 arguments, x, n: 1');
    expect(() => copy(lazy([1, 2]), 2)).toThrow("x of float32: float64 (x.astype('float32'))");
    expect(copy([1, 2], 2).dtype).toBe('float32');
    expect(() => copy(x, lazy(3))).toThrow('a number for n');
    expect(() => copy(x, 2.5)).toThrow('an integer of int32 for n: 2.5');
    expect(() => copy(x, 2 ** 31)).toThrow('an integer of int32 for n: 2147483648');
    const matrix = other({ inputs: { ...options.inputs, x: { dtype: 'float32', ndim: 2 } } })();
    expect(() => matrix(x, 3)).toThrow('x with 2 axes: 1');
  });

  it('give launches that devices have', () => {
    const withLaunch = (launch: object) => () => other(launch)()(x, 3);
    expect(withLaunch({ grid: 2 ** 31 })).toThrow('from 0 to 2147483647 blocks along x: 2147483648');
    expect(withLaunch({ grid: [1, 65_536] })).toThrow('from 0 to 65535 blocks along y: 65536');
    expect(withLaunch({ grid: 1.5 })).toThrow('blocks along x: 1.5');
    expect(withLaunch({ block: [64, 32] })).toThrow('at most 1024 threads in a block: 64×32×1, 2048');
    expect(withLaunch({ block: 0 })).toThrow('from 1 to 1024 threads along x: 0');
    expect(withLaunch({ shared: 2 ** 20 })).toThrow('bytes of shared memory: 1048576');
    expect(withLaunch({ grid: 0 })).toThrow('blocks that write y: a grid of 0×1×1');
    expect(withLaunch({ cuts: { parts: { x: 4 } } })).toThrow(
      'cuts with the part of y that a block writes: none',
    );
    expect(withLaunch({ cuts: { parts: { y: 1 } } })).toThrow(
      '1 blocks to write all of y: 1 elements each of 3',
    );
    expect(withLaunch({ cuts: { parts: { z: 1 } } })).toThrow('parts of the arrays of the kernel: z');
  });
});

describe('a kernel in CUDA C', () => {
  it('is refused on the CPU by name', async () => {
    await expect(copy(x, 3).compute({ device: 'cpu' })).rejects.toThrow(
      /a GPU for the kernel copy, which is CUDA C: cpu .*\n +for what was made at .*user-kernels\.test\.ts/,
    );
  });

  it('is one node where it is the same of the same, another one by another scalar', () => {
    const exprs = [copy(x, 3), copy(x, 3), copy(x, 4)].map(({ expr }) => expr);
    const [first, again, longer] = canonicalize(exprs).graph.outputs;
    expect([first === again, first === longer]).toEqual([true, false]);
  });
});

describe.skipIf(withoutNvrtc)(`NVRTC${whyNoNvrtc}`, () => {
  it('compiles the examples, and gives the names of instantiations', async () => {
    const made = [
      cuda.myAdd(x, x),
      cuda.complexAdd(lazy([1, 2, 3, 4, 5]).astype('complex64'), x.astype('complex64'), 3),
      cuda.fx3(x, 3),
      cuda.scaled(x.astype('float64'), 3),
      cuda.histogram(x.astype('uint8'), 3),
      cuda.life(x.astype('uint8').reshape([1, 3]), 1, 3),
    ];
    const entries = await Promise.all(
      made.map(async ({ expr }) => {
        const own = (expr as Extract<Expr, { kind: 'call' }>).kernel!;
        const code = own.code as CudaCode;
        const options = [...CUDA_OPTIONS, ...code.options, '--gpu-architecture=sm_90'];
        const { entry } = await compileCuda(printUserKernel(own), options, code.entry);
        return entry;
      }),
    );
    expect(entries).toEqual([
      'my_add',
      'my_func',
      '_Z3fx3IfEvPT_i',
      '_Z6scaledIdLi7EEvPKT_PS0_i',
      'histogram',
      'life',
    ]);
  });

  it('is quoted with lines of the user’s text', async () => {
    const text = 'extern "C" __global__ void f() {\n  g();\n}';
    const own = { file: 'kernel.cu', text, owner: 'kernel', noun: 'CUDA C with f' };
    const place = { path: '/app/f.ts', line: 10 };
    const wrong = kernelSource(`#line 1 "kernel.cu"\n${text}`, [{ ...own, place }]);
    await expect(loadSource({ ...wrong, entry: 'f' }, 'sm_90')).rejects.toThrow(
      /CUDA C with f that compiles: \n\/app\/f\.ts:11:3: error: .*"g"/,
    );
  });
});

describe("CUDA's headers", () => {
  it('are those beside NVRTC, in a toolkit and in wheels, else those of the toolkit', () => {
    const at = (there: string) =>
      headerFolder('/py/nvidia/cuda_nvrtc/lib/libnvrtc.so.12', (path) => path === `${there}/cuda_fp16.h`);
    expect(at('/py/nvidia/cuda_runtime/include')).toBe('/py/nvidia/cuda_runtime/include');
    expect(at('/usr/local/cuda/include')).toBe('/usr/local/cuda/include');
    expect(at('/elsewhere')).toBeUndefined();
  });
});

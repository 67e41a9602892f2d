/** elementwiseCuda() and reductionCuda(): errors with their places, sources, and what the CPU refuses. */
import { describe, expect, it } from 'vitest';
import { lazy } from '../src/api/creation.js';
import { elementwiseCuda } from '../src/api/cuda-functions.js';
import { reductionCuda } from '../src/api/cuda-reductions.js';
import type { Lazy } from '../src/api/lazy.js';
import { iterate } from '../src/api/loops.js';
import { cudaKernel } from '../src/codegen/cuda/cuda.js';
import { textsOfCuda } from '../src/codegen/cuda/cuda-functions.js';
import { kernelSource } from '../src/codegen/cuda/source.js';
import { loadSource } from '../src/exec/targets/cuda-images.js';
import { cudaFunctionsIn } from '../src/fusion/kernel/arithmetic.js';
import type { Kernel } from '../src/fusion/kernel/kernel.js';
import { partition } from '../src/fusion/partition/partition.js';
import { canonicalize } from '../src/fusion/passes/canonicalize.js';
import { runPasses } from '../src/fusion/passes/pipeline.js';
import { whyNoNvrtc, withoutNvrtc } from './support/nvrtc.js';

const x = lazy([1, 2, 3]).astype('float32');
const made =
  (inputs: string, outputs: string, operation: string, options = {}) =>
  () =>
    elementwiseCuda(inputs, outputs, operation, options);

/** The kernels of an array. */
const kernelsFor = (array: Lazy): Kernel[] =>
  partition(runPasses(canonicalize([array.expr]).graph)).steps.flatMap((step) =>
    step.kind === 'kernel' ? [step.kernel.kernel] : [],
  );

describe('a function in CUDA C', () => {
  it('is refused with the place in its texts, and in the file', () => {
    expect(made('T x, T', 'T z', 'z = x')).toThrow(
      /a type and a name, as in 'T x': T at line 1, column 6 of the inputs, .*cuda-functions\.test\.ts:\d+:\d+\n {2}T x, T\n {7}\^/,
    );
    expect(made('float x', 'T z', 'z = x')).toThrow('a dtype, one of bool');
    expect(made('T x, T x', 'T z', 'z = x')).toThrow('each name once: x at line 1, column 8');
    for (const name of ['for', 'threadIdx', 'float', 'template'])
      expect(made(`T ${name}`, 'T z', 'z = 1')).toThrow(`a name that C++ and CUDA leave free: ${name}`);
    for (const name of ['i', 'n', '_a', 'weft_exp'])
      expect(made(`T ${name}`, 'T z', 'z = 1')).toThrow('which have a meaning');
    expect(made('T x', '', 'z = x')).toThrow("an output, as in 'T z': none");
    expect(made('T x', 'raw T z', 'z[0] = x')).toThrow('z to be written at its own place alone');
    expect(made('T x', 'T x', 'x = 1')).toThrow('names that inputs do not have: x');
    expect(made('T x', 'T z', 'z = (x + 1')).toThrow(
      'brackets, strings and comments in pairs: ( at line 1, column 5 of the operation',
    );
    expect(made('T x', 'T z', 'z = x } void f() {')).toThrow('in pairs: } at');
    expect(made('T x', 'T z', 'z = x /* a')).toThrow('in pairs: / at line 1, column 7');
    expect(made('T x', 'T z', 7 as never)).toThrow('the operation as text: 7');
    expect(made('T x', 'T z', 'z = x', { preambel: '' })).toThrow('preambel');
  });

  it('has to write its outputs', () => {
    for (const operation of ['x + 1', 'z == x', 'f(z + 1)', '// z = x', 'zz = x'])
      expect(made('T x', 'T z', operation)).toThrow(
        'an operation that writes z: none of its statements does',
      );
    for (const operation of ['z = x', 'z += x', 'z++', 'sincos(x, &z, &y)', 'f(x, z)', 'if (x) { z <<= 1; }'])
      expect(made('T x', 'T z', operation)).not.toThrow();
  });

  it('takes arguments of its dtypes, as many as it has', () => {
    const f = elementwiseCuda('T x, T y, float32 s', 'T z', 'z = x', { name: 'scaled' });
    expect(() => f(x, x)).toThrow('[scaled] expected 3 arguments, x, y, s: 2');
    expect(() => f(x, x.astype('float64'), 1)).toThrow(
      "[scaled] expected one dtype for T: float32 of x and float64 of y (y.astype('float32'))",
    );
    expect(() => f(x, x, x.astype('int8'))).toThrow("s of float32: int8 (s.astype('float32'))");
    expect(() => f(x.astype('int32'), 2.5, 1)).toThrow('an integer of int32 for y: 2.5');
    expect(() => f(x, lazy([1, 2]).astype('float32'), 1)).toThrow('[scaled]');
    const dtypes = [f(x, 2, 1), f(x, [1, 2, 3], 1), f(1, 2, 1), f(1.5, 2, 1)].map(({ dtype }) => dtype);
    expect(dtypes).toEqual(['float32', 'float32', 'int64', 'float64']);
    const places = elementwiseCuda('raw T y', 'T z', 'z = y[i]');
    expect(() => places(x)).toThrow('a shape, which no input says: none (f(y, { shape }))');
    expect(() => places(1, { shape: 3 })).toThrow('an array for y, which is raw: 1');
    expect(() => f(x, x, 1, { shape: [2] })).toThrow('[scaled]');
  });

  it('is told the dtypes of letters that outputs alone have', () => {
    const f = elementwiseCuda('T x', 'U z, V w', 'z = x; w = x', { name: 'as' });
    const [z, w] = f(x, { dtypes: { U: 'float64', V: 'int8' } }) as unknown as Lazy[];
    expect([z!.dtype, w!.dtype]).toEqual(['float64', 'int8']);
    expect(() => f(x)).toThrow(
      "[as] expected a dtype for U, which no input has: none (f(…, { dtypes: { U: 'float32', V: 'float32' } }))",
    );
    expect(() => f(x, { dtypes: { U: 'float64' } })).toThrow('a dtype for V, which no input has: none');
    expect(() => f(x, { dtypes: { U: 'double' as never, V: 'int8' } })).toThrow(
      "[as] expected a dtype for U: 'double'",
    );
    expect(() => f(x, { dtypes: { T: 'int8' } })).toThrow('dtypes of letters that outputs alone have: T');
  });

  it('runs on the CPU where it has a version, and is refused by its name before anything runs', async () => {
    const f = elementwiseCuda('T x', 'T z', 'z = x', { name: 'plain' });
    const message =
      /a GPU for plain, which is CUDA C: cpu \(the option cpu gives it a version in TypeScript\)\n +for what was made at .*cuda-functions\.test/;
    await expect(f(x).add(1).compute({ device: 'cpu' })).rejects.toThrow(message);
    const sum = reductionCuda('T x', 'T y', 'x', 'b - a', 'y = a', 0, { name: 'odd' });
    await expect(sum(x, 0).compute({ device: 'cpu' })).rejects.toThrow('a GPU for odd');
    const looped = iterate(3, x, (v: Lazy) => f(v));
    await expect(looped.compute({ device: 'cpu' })).rejects.toThrow('a GPU for plain');
    const raw = elementwiseCuda('raw T x', 'T z', 'z = x[0]', { name: 'first' });
    await expect(raw(x, { shape: 2 }).compute({ device: 'cpu' })).rejects.toThrow(
      'a GPU for the kernel first',
    );
    expect(made('raw T x', 'T z', 'z = x[0]', { cpu: (v: number) => v })).toThrow(
      'no version for the CPU where an input is raw',
    );
    expect(made('T x', 'T z', 'z = x', { cpu: () => 1 })).toThrow(
      'a version for the CPU with the parameters x: 0 of them',
    );
    const two = elementwiseCuda('T x', 'T z', 'z = x', { cpu: (v: number) => [v, v] });
    expect(() => two(x)).toThrow('1 numbers from the version for the CPU: 2');
  });

  it('has no names of its user in the source, and one text of each kind once', () => {
    const f = elementwiseCuda('T x', 'T z', 'z = twice(x)', { name: '*/ "evil', preamble: PREAMBLE });
    const [kernel] = kernelsFor(f(f(x)).add(f(x.astype('float64'))));
    const { source } = cudaKernel(kernel!);
    expect(source).not.toContain('evil');
    expect(source.match(/#line 1 "preamble_/g)).toHaveLength(2);
    expect(source.match(/typedef (float|double) T;/g)).toEqual(['typedef float T;', 'typedef double T;']);
    expect(source.match(/#undef TWO/g)).toHaveLength(2);
  });
});

const PREAMBLE = `#define TWO 2
__device__ T twice(T a) { return TWO * a; }`;

describe('a reduction in CUDA C', () => {
  it('is refused with the place in its texts', () => {
    const of =
      (...args: readonly unknown[]) =>
      () =>
        (reductionCuda as (...args: readonly unknown[]) => unknown)(...args);
    expect(of('T x', 'T y', 'x)', 'a + b', 'y = a', 0)).toThrow('in pairs: ) at line 1, column 2 of map');
    expect(of('T x', 'T y', 'x', 'a + b', 'a', 0)).toThrow('an operation that writes y');
    expect(of('T x', 'T y', 'x', 'a + b', 'y = a', 'none')).toThrow(
      'an identity that is a number: none at line 1',
    );
    expect(of('T x', 'T y', 'x', 'a + b', 'y = a', '-INFINITY')).not.toThrow();
    expect(of('T x', 'T y', 'x', 'a + b', 'y = a', 0, { reduceType: 'U' })).toThrow(
      'the letter of an input or output: U at line 1, column 1 of the reduceType',
    );
    expect(of('T x', 'T y', '{x, 1}', 'a', 'y = a.value', [0, 0], { reduceType: 'T U, U at' })).toThrow(
      'the letter of an input or output: U at line 1, column 6 of the reduceType',
    );
    expect(of('T x', 'T y', 'x', 'a + b', 'y = a', 0, { reduceType: 5 as never })).toThrow('as text');
    const pair = { reduceType: 'T value, int64 at' };
    expect(of('T x', 'T y', '{x, i}', 'a', 'y = a.value', [0, 0], pair)).not.toThrow();
    expect(of('T x', 'T y', '{x, i}', 'a', 'y = a.value', 0, pair)).toThrow(
      'an identity of 2 numbers, as reduceType has: 0',
    );
    expect(of('T x', 'T y', '{x, i}', 'a', 'y = a.value', [0, ''], pair)).toThrow(
      'an identity that is a number',
    );
    expect(of('T x', 'T y', '{x}', 'a', 'y = a.value', [0], { reduceType: 'T for' })).toThrow(
      'a name that C++ and CUDA leave free: for at line 1, column 3 of the reduceType',
    );
    const single = { map: (v: number) => v, combine: ([a]: number[]) => [a], finish: ([a]: number[]) => a };
    expect(of('T x', 'T y', '{x, i}', 'a', 'y = a.value', [0, 0], { ...pair, cpu: single })).toThrow(
      'a version for the CPU with the parameters a list of 2, a list of 2: 1 of them',
    );
    expect(of('raw T x', 'T y', 'x[i]', 'a + b', 'y = a', 0)).toThrow('an input that is not raw');
    expect(of('T x', 'T y', 'x', 'a + b', 'y = a')).toThrow('an identity that is a number: undefined');
  });
});

describe.skipIf(withoutNvrtc)(`NVRTC${whyNoNvrtc}`, () => {
  const compiled = (kernel: Kernel): Promise<unknown> =>
    loadSource(kernelSource(cudaKernel(kernel).source, textsOfCuda(cudaFunctionsIn(kernel))), 'sm_90');

  it('compiles functions of all dtypes with headers, and says where a text is wrong', async () => {
    const good = elementwiseCuda(
      'T x, C c, bool b',
      'T z, C d, bool e',
      'z = twice(x); d = c * C(0, 1) + exp(c) / 2.0f; e = !b;',
      {
        preamble: PREAMBLE,
      },
    );
    const [first] = good(x, x.astype('complex64'), x.greater(1)) as unknown as [Lazy];
    await compiled(kernelsFor(first.add(1))[0]!);
    const wrong = elementwiseCuda('T x', 'T z', 'z = x;\n  z = foo(x);', { name: 'wrong' });
    await expect(compiled(kernelsFor(wrong(x))[0]!)).rejects.toThrow(
      /\[wrong\] expected the operation that compiles: \nline 2, column 7 of the operation: error: .*"foo"/,
    );
    const onOneLine = elementwiseCuda('T x', 'T z', 'z = foo(x)', { name: 'wrong' });
    await expect(compiled(kernelsFor(onOneLine(x))[0]!)).rejects.toThrow(
      /cuda-functions\.test\.ts:\d+:58: error: .*"foo"/,
    );
    const bad = elementwiseCuda('T x', 'T z', 'z = twice(x)', {
      preamble: '__device__ T twice(T a) { retrun a; }',
    });
    await expect(compiled(kernelsFor(bad(x))[0]!)).rejects.toThrow(
      /the preamble that compiles: \n.*cuda-functions\.test\.ts:\d+:\d+: error/,
    );
  });
});

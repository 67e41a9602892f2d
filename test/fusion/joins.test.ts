/** Joins do not end a kernel: programs that take arrays apart and join them read their inputs once and write once. */
import { describe, expect, it } from 'vitest';
import { lorenz, rgbToHsv, rungeKutta } from '../../bench/joined-expressions.js';
import { cudaKernel } from '../../src/codegen/cuda/cuda.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { opOf } from '../../src/fusion/kernel/arithmetic.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { trafficOf } from '../../src/fusion/kernel/traffic.js';
import type { FusedStep } from '../../src/fusion/partition/partition.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { concat, type DType, type Lazy, placeholder, stack } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';

const x = (shape: readonly number[], dtype: DType = 'float32'): Lazy => placeholder(shape, { dtype });
const N = 100_000;

/** Inputs, and the program over them. */
interface Program {
  readonly inputs: readonly Lazy[];
  readonly build: (...inputs: Lazy[]) => Lazy | Lazy[];
}

const IMAGE = [300, 200, 3];
const PROGRAMS: Readonly<Record<string, Program>> = {
  'a Runge–Kutta step': { inputs: [x([3, N])], build: (y) => rungeKutta(lorenz, y!, 0.01) },
  'eight Runge–Kutta steps': {
    inputs: [x([3, N])],
    build: (y) => {
      let state = y!;
      for (let k = 0; k < 8; k++) state = rungeKutta(lorenz, state, 0.01);
      return state;
    },
  },
  'states side by side': {
    inputs: [x([N, 3])],
    build: (y) => rungeKutta((state) => lorenz(state.transpose()).transpose(), y!, 0.01),
  },
  'a conversion of colours': { inputs: [x(IMAGE)], build: (image) => rgbToHsv(image!) },
  'a conversion of bytes': {
    inputs: [x(IMAGE, 'uint8')],
    build: (image) => rgbToHsv(image!).mul(255).astype('uint8'),
  },
  'grey of bytes': { inputs: [x(IMAGE, 'uint8')], build: (image) => grey(image!) },
  'channels first': {
    inputs: [x(IMAGE, 'uint8')],
    build: (image) => stack([0, 1, 2].map((k) => image!.slice('...', k).astype('float32').div(255))),
  },
  'expensive parts of one size': {
    inputs: [x([1 << 19]), x([1 << 19])],
    build: (a, b) => concat([a!.tanh(), b!.exp().tanh()]),
  },
  'a map after parts of one size': {
    inputs: [x([400, 500]), x([400, 500])],
    build: (a, b) => concat([a!.tanh(), b!.exp()], 1).mul(2).astype('float16'),
  },
  'parts of other sizes': {
    inputs: [x([N]), x([1000])],
    build: (a, b) => concat([a!.exp(), b!.sqrt()]),
  },
  'differences with ends': {
    inputs: [x([N])],
    build: (a) => concat([a!.slice([0, 1]), a!.slice([1, null]).sub(a!.slice([null, -1]))]),
  },
  'a padded map': { inputs: [x([N])], build: (a) => a!.exp().pad(3) },
  'statistics side by side': {
    inputs: [x([1000, 300])],
    build: (a) => stack([a!.min(1), a!.max(1), a!.mean(1)], -1),
  },
  'a stack that is wanted with a map of it': {
    inputs: [x([N])],
    build: (a) => {
      const both = stack([a!.sin(), a!.cos()]);
      return [both, both.mul(2)];
    },
  },
  'a push of particles, whose velocities are a result and move them': {
    inputs: [x([N, 3]), x([N, 3])],
    build: (places, velocities) => {
      const next = velocities!.add(turned(velocities!.add(turned(velocities!))));
      return [places!.add(next.mul(0.01)), next];
    },
  },
  'three states of an integrator, each a result': {
    inputs: [x([3, N])],
    build: (y) => {
      const states = [y!];
      for (let k = 0; k < 3; k++) states.push(states[k]!.add(lorenz(states[k]!).mul(0.01)));
      return states.slice(1);
    },
  },
  'a sum over a stack': {
    inputs: [x([N]), x([N])],
    build: (a, b) => stack([a!.mul(2), b!.square()]).sum(0),
  },
};

/** Vectors turned about an axis. */
function turned(vectors: Lazy): Lazy {
  const [a, b, c] = [0, 1, 2].map((k) => vectors.slice('...', k)) as [Lazy, Lazy, Lazy];
  return stack([b.mul(0.3).sub(c.mul(0.2)), c.mul(0.1).sub(a.mul(0.3)), a.mul(0.2).sub(b.mul(0.1))], -1);
}

function grey(image: Lazy): Lazy {
  const [r, g, b] = [0, 1, 2].map((k) => image.slice('...', k).astype('float32')) as [Lazy, Lazy, Lazy];
  return r.mul(0.299).add(g.mul(0.587)).add(b.mul(0.114)).astype('uint8');
}

const bytesOf = (arrays: readonly Lazy[]): number =>
  arrays.reduce((sum, { size, dtype }) => sum + size * byteLengthOf(dtype), 0);

const functionsIn = ({ tape }: Kernel): string[] => tape.flatMap((i) => opOf(i) ?? []).sort();

const TARGETS = { 'the CPU': undefined, CUDA: CUDA_TARGET.passes } as const;

/** The kernels of a program, and calls. */
function stepsOf({ inputs, build }: Program, target: keyof typeof TARGETS = 'the CPU'): FusedStep[] {
  const results = [build(...inputs)].flat();
  const passes = TARGETS[target];
  return [
    ...partitionOf(
      results.map(({ expr }) => expr),
      passes === undefined ? {} : { passes },
    ).steps,
  ];
}

const kernelOf = (step: FusedStep | undefined): Kernel => {
  if (step?.kind !== 'kernel') throw new Error('no kernel');
  return step.kernel.kernel;
};

describe.each(Object.keys(TARGETS) as (keyof typeof TARGETS)[])(
  'of %s, one kernel that reads and writes once:',
  (target) => {
    it.each(Object.entries(PROGRAMS))('%s', (_, program) => {
      const steps = stepsOf(program, target);
      expect(steps).toHaveLength(1);
      const { bytesRead, bytesWritten } = trafficOf(kernelOf(steps[0]));
      const results = [program.build(...program.inputs)].flat();
      expect(bytesRead + bytesWritten).toBeLessThanOrEqual(1.05 * bytesOf([...program.inputs, ...results]));
    });
  },
);

describe('parts of a join', () => {
  it('are the stores of one kernel, whose values are computed once', () => {
    const kernel = kernelOf(stepsOf(PROGRAMS['expensive parts of one size']!)[0]);
    expect(kernel.parallel).toEqual([1 << 19]);
    expect(kernel.stores.map(({ access }) => access.offset)).toEqual([0, 1 << 19]);
    expect(functionsIn(kernel)).toEqual(['exp', 'tanh', 'tanh']);
  });

  it('are the stores of what a routine reads', () => {
    const a = x([N]);
    const [first, sorted] = stepsOf({ inputs: [], build: () => stack([a.sin(), a.cos()]).sort(1) });
    expect(kernelOf(first).stores).toHaveLength(2);
    expect(sorted?.kind).toBe('call');
  });

  it('are chosen by index where a reduction reads them as one', () => {
    const both = concat([x([400, 500]).exp(), x([400, 500]).sqrt()]);
    const [kernel, ...rest] = stepsOf({ inputs: [], build: () => [both, both.sum()] });
    expect(rest).toEqual([]);
    expect(kernelOf(kernel).stores).toHaveLength(2);
    expect(kernelOf(kernel).parallel).toEqual([]);
  });

  it('stay in one piece where a map of it that is a result has another order, or is reduced', () => {
    const both = x([2, N]).mul(stack([x([N]).exp(), x([N]).sqrt()]));
    for (const other of [
      both
        .transpose()
        .mul(x([N, 2]))
        .sum(0),
      both.mul(2).sum(),
    ])
      expect(stepsOf({ inputs: [], build: () => [both, other] }).length).toBeLessThanOrEqual(2);
  });

  it('are all that a slice of a map of the join computes', () => {
    const both = stack([x([N]).exp(), x([N]).sqrt()]).mul(x([2, N]));
    expect(functionsIn(kernelOf(stepsOf({ inputs: [], build: () => both.slice(1) })[0]))).toEqual([
      'multiply',
      'sqrt',
    ]);
    expect(
      functionsIn(kernelOf(stepsOf({ inputs: [], build: () => both.slice([1, 2]).sum(1) })[0])),
    ).toContain('sqrt');
  });

  it('share a value that is read at several places', () => {
    const f = x([N]).tanh();
    const ends = concat([f.slice([0, 1]), f, f.slice([N - 1, N])]);
    const [kernel, ...rest] = stepsOf({
      inputs: [],
      build: () => ends.slice([2, null]).sub(ends.slice([0, N])),
    });
    expect(rest.length).toBeLessThanOrEqual(1);
    expect(functionsIn(kernelOf(kernel))).toContain('tanh');
  });

  it('stay in one piece where a long map would be computed for each of them', () => {
    let y = concat(Array.from({ length: 16 }, () => x([1000])));
    for (let k = 0; k < 100; k++) y = y.sin().add(k);
    const [kernel, ...rest] = stepsOf({ inputs: [], build: () => y });
    expect(rest).toEqual([]);
    expect(kernelOf(kernel).stores).toHaveLength(1);
  });
});

describe('interleaved channels', () => {
  it.each<[string, DType]>([
    ['bytes', 'uint8'],
    ['halves', 'float16'],
    ['floats', 'float32'],
  ])('of %s move in whole packs', (_, dtype) => {
    const image = x(IMAGE, dtype);
    const swapped = stack(
      [2, 1, 0].map((k) => image.slice('...', k)),
      -1,
    );
    const { source } = cudaKernel(kernelOf(stepsOf({ inputs: [], build: () => swapped }, 'CUDA')[0]));
    expect(source.match(/wide\[p\]/g)).toHaveLength(2);
    expect(source).not.toMatch(/b[01]\[/);
  });

  it('move one by one where some are not written, or rows of packs are not aligned', () => {
    const odd = x([7, 301, 3]).slice([0, 5], [1, null]);
    const added = odd.slice('...', 0).add(odd.slice('...', 2));
    expect(cudaKernel(kernelOf(stepsOf({ inputs: [], build: () => added }, 'CUDA')[0])).source).not.toMatch(
      'wide',
    );
  });
});

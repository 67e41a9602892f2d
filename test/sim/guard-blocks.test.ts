/**
 * Where memory is poisoned, each buffer of a run and each slot of a sweep is watched by itself: a kernel that
 * goes one element beyond any of them is reported by its name, though another buffer of the run would come
 * next in the run's memory.
 */
import { describe, expect, it } from 'vitest';
import { compileCuda, createProgram, type ProgramSpec, run } from '../../src/exec/native/native.js';
import { setDevices, takeProblems } from './simulator.js';

/** Each problem loses a device. */
let ordinal = 0;
setDevices(Array.from({ length: 40 }, () => ({ memory: 2 ** 24 })));

const N = 64;
const BYTES = 4 * N;
const PARAMETERS = ['a', 'b', 't', 'u', 'p', 'q'] as const;

/**
 * Kernels `fill` and then `reach` over 64 elements of inputs a and b, temporaries t and u, outputs p and q.
 */
async function inOneRun(body: string): Promise<ProgramSpec> {
  const parameters = PARAMETERS.map((name) => `float* ${name}`).join(', ');
  const source = `
extern "C" __global__ void __launch_bounds__(64) fill(${parameters}) {
  const int i = (int)threadIdx.x;
  t[i] = a[i]; u[i] = b[i]; p[i] = 0; q[i] = 0;
}
extern "C" __global__ void __launch_bounds__(64) reach(${parameters}) {
  const int i = (int)threadIdx.x;
  ${body}
}`;
  const { image } = await compileCuda(source, ['--gpu-architecture=sm_90']);
  return {
    device: `cuda:${ordinal++}`,
    arenaByteLength: 2 * BYTES,
    images: [{ key: source, bytes: image }],
    buffers: (['input', 'input', 'temporary', 'temporary', 'output', 'output'] as const).map((role, k) => ({
      role,
      byteLength: BYTES,
      offset: role === 'temporary' ? (k - 2) * BYTES : -1,
    })),
    steps: ['fill', 'reach'].map((name) => ({
      kind: 'launch',
      image: 0,
      function: name,
      grid: [1, 1, 1],
      block: [N, 1, 1],
      sharedByteLength: 0,
      args: PARAMETERS.map((_, buffer) => ({ buffer })),
    })),
  };
}

/**
 * A kernel `reach` over four tiles of 64 elements of an input x and an output y, each of which has two slots.
 */
async function inTiles(body: string): Promise<ProgramSpec> {
  const source = `
extern "C" __global__ void __launch_bounds__(64) reach(float* x, float* y, unsigned first) {
  const int i = (int)((first + blockIdx.x) * 64 + threadIdx.x);
  ${body}
}`;
  const { image } = await compileCuda(source, ['--gpu-architecture=sm_90']);
  const tiles = [0, 1, 2, 3];
  const windows = Float64Array.from(tiles.flatMap((tile) => [tile % 2, 1, tile * BYTES, BYTES, 1, BYTES]));
  return {
    device: `cuda:${ordinal++}`,
    arenaByteLength: 4 * BYTES,
    images: [{ key: source, bytes: image }],
    buffers: (['input', 'output'] as const).map((role) => ({
      role,
      byteLength: 4 * BYTES,
      offset: -1,
      windowed: true,
    })),
    steps: [
      {
        kind: 'sweep',
        tiles: 4,
        buffers: (['in', 'out'] as const).map((direction, buffer) => ({
          buffer,
          direction,
          offset: 2 * BYTES * buffer,
          slotByteLength: BYTES,
          slots: 2,
          slotPitch: BYTES,
          windows,
        })),
        body: [
          {
            step: {
              kind: 'launch',
              image: 0,
              function: 'reach',
              grid: [4, 1, 1],
              block: [N, 1, 1],
              sharedByteLength: 0,
              args: [{ buffer: 0 }, { buffer: 1 }, { block: 'x' }],
            },
            ranges: Float64Array.from(tiles.flatMap((tile) => [tile, tile + 1, 0, 1, 0, 0])),
          },
        ],
      },
    ],
  };
}

/** The problems of a run, and its results as numbers; none where it was rejected. */
async function outcomeOf(spec: ProgramSpec) {
  const outputs = spec.buffers.flatMap(({ role }) => (role === 'output' ? ['host' as const] : []));
  const inputs = spec.buffers.flatMap(({ role, byteLength }) =>
    role === 'input' ? [new Float32Array(byteLength / 4).fill(2)] : [],
  );
  const result = await run(createProgram(spec), inputs, { outputs }).catch(() => undefined);
  const values = result?.outputs.map((output) => [...new Float32Array(output as ArrayBuffer)]);
  return { problems: takeProblems(), values };
}

async function expectReported(spec: ProgramSpec, verb: string): Promise<void> {
  const { problems } = await outcomeOf(spec);
  expect(problems.map(({ kind }) => kind)).toEqual(['out-of-bounds']);
  expect(problems[0]!.message).toMatch(new RegExp(`cuLaunchKernel #\\d+ \\(reach\\).*${verb} 4 bytes`));
}

describe('a kernel of a run', () => {
  it('that stays within its buffers passes', async () => {
    const { problems, values } = await outcomeOf(await inOneRun('p[i] = t[i] + u[i]; q[i] = a[i] * b[i];'));
    expect(problems).toEqual([]);
    expect(values).toEqual([new Array(N).fill(4), new Array(N).fill(4)]);
  });

  it.each(PARAMETERS)('that reads one element beyond %s is reported', async (name) => {
    await expectReported(await inOneRun(`if (i == 63) a[0] = ${name}[i + 1];`), 'reads');
  });

  it.each(PARAMETERS)('that writes one element beyond %s is reported', async (name) => {
    await expectReported(await inOneRun(`if (i == 63) ${name}[i + 1] = 0;`), 'writes');
  });

  it.each(PARAMETERS)('that writes one element before %s is reported', async (name) => {
    await expectReported(await inOneRun(`if (i == 0) ${name}[i - 1] = 0;`), 'writes');
  });
});

describe('a kernel of a sweep', () => {
  it('that stays within its windows passes', async () => {
    const { problems, values } = await outcomeOf(await inTiles('y[i] = 3 * x[i];'));
    expect(problems).toEqual([]);
    expect(values).toEqual([new Array(4 * N).fill(6)]);
  });

  it.each([
    ['reads beyond', 'y[i] = x[i + 1];', 'reads'],
    ['reads before', 'y[i] = x[i - 1];', 'reads'],
    ['writes beyond', 'y[i] = x[i]; if (threadIdx.x == 63) y[i + 1] = 0;', 'writes'],
  ] as const)('that %s a window is reported', async (_, body, verb) => {
    await expectReported(await inTiles(body), verb);
  });
});

/**
 * The CUDA runtime on the simulated CUDA (`native/sim`), which does what is queued as late as it may:
 * buffers, copies, launches, matrix products, the account of memory, and what happens when a device fails.
 */
import { describe, expect, it } from 'vitest';
import {
  cancel,
  compileCuda,
  createCancel,
  createProgram,
  memory,
  openDevice,
  type ProgramSpec,
  run,
  type StepSpec,
  trim,
} from '../../src/exec/native/native.js';
import type { BufferSpec, TensorMap } from '../../src/exec/native/program-types.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { ArgumentError, DeviceError, DeviceLostError, MemoryError } from '../../src/host/errors.js';
import { setDevices, setFaults, takeProblems } from '../sim/simulator.js';

const MEMORY_BYTES = 256 * 2 ** 20;

setDevices([{ memory: MEMORY_BYTES }, { memory: MEMORY_BYTES }]);

const bytesOf = (array: Float32Array | Int32Array): Uint8Array => new Uint8Array(array.buffer);

/** y = a x, a kernel that writes where nothing is, and one that writes a tensor map as words (`native/sim/driver/tensor-maps.cpp`). */
const SOURCE = `
extern "C" __global__ void __launch_bounds__(128)
scale(const float* __restrict__ x, float* __restrict__ y, float a, int n) {
  for (int i = (int)threadIdx.x; i < n; i += 128) y[i] = a * x[i];
}
extern "C" __global__ void __launch_bounds__(1)
fault() {
  *reinterpret_cast<volatile int*>(256) = 0;
}
struct weft_map {
  unsigned long long words[16];
};
extern "C" __global__ void __launch_bounds__(32)
words(weft_map map, const float* x, unsigned long long* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = threadIdx.x == 0 ? map.words[0] - (unsigned long long)x : map.words[threadIdx.x];
}
`;
const compiled = await compileCuda(SOURCE, ['--gpu-architecture=sm_90']);
const image = { key: 'image', bytes: compiled.image };

/** buffers[to] = factor * buffers[from], n elements. */
const scale = (from: number, to: number, factor: number, n: number): StepSpec => ({
  kind: 'launch',
  image: 0,
  function: 'scale',
  grid: [1, 1, 1],
  block: [128, 1, 1],
  sharedByteLength: 0,
  args: [
    { buffer: from },
    { buffer: to },
    { bytes: bytesOf(new Float32Array([factor])) },
    { bytes: bytesOf(new Int32Array([n])) },
  ],
});

const fault: StepSpec = {
  kind: 'launch',
  image: 0,
  function: 'fault',
  grid: [1, 1, 1],
  block: [1, 1, 1],
  sharedByteLength: 0,
  args: [],
};

const MAP: TensorMap = {
  buffer: 0,
  elementBytes: 4,
  sizes: [12, 5, 3],
  strides: [64, 320],
  box: [64, 256, 1],
};

/** The words of a map of the input, of which the first is relative to its address. */
const wordsOf = (map: Partial<TensorMap>, buffers: Partial<BufferSpec> = {}): ProgramSpec => ({
  device: 'cuda:0',
  arenaByteLength: 0,
  images: [image],
  buffers: [
    { role: 'input', byteLength: 960, offset: -1, ...buffers },
    { role: 'output', byteLength: 128, offset: -1 },
  ],
  steps: [
    {
      kind: 'launch',
      image: 0,
      function: 'words',
      grid: [1, 1, 1],
      block: [32, 1, 1],
      sharedByteLength: 0,
      args: [{ tensorMap: { ...MAP, ...map } }, { buffer: 0 }, { buffer: 1 }],
    },
  ],
  graphs: [{ first: 0, count: 1 }],
});

/** 6 x, by way of a temporary. */
const sixTimes = (n: number, device = 'cuda:0'): ProgramSpec => ({
  device,
  arenaByteLength: 4 * n,
  images: [image],
  buffers: [
    { role: 'input', byteLength: 4 * n, offset: -1 },
    { role: 'temporary', byteLength: 4 * n, offset: 0 },
    { role: 'output', byteLength: 4 * n, offset: -1 },
  ],
  steps: [scale(0, 1, 2, n), scale(1, 2, 3, n)],
});

const ramp = (n: number, modulus = 1000): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => i % modulus);
const use = (device = 'cuda:0') => memory().find((entry) => entry.device === device)!;

/** The first element that is not `factor` times the input's; -1: none. */
const firstWrong = (x: Float32Array, result: unknown, factor: number): number =>
  new Float32Array(result as ArrayBuffer).findIndex((value, i) => value !== factor * x[i]!);

describe('a program on a GPU', () => {
  // Below a slot of the staging ring, several slots, and beyond what one lane takes alone; none a multiple of
  // either.
  it.each([1, 1000, 1_500_001, 5_000_003])('brings %d elements there and back', async (n) => {
    const x = ramp(n);
    const program = createProgram(sixTimes(n));
    for (let i = 0; i < 3; i++) {
      const { outputs } = await run(program, [x], { outputs: ['host'] });
      expect(outputs[0]!.byteLength).toBe(4 * n);
      expect(firstWrong(x, outputs[0], 6)).toBe(-1);
    }
  });

  it('brings many small buffers through one slot', async () => {
    const count = 300;
    const spec: ProgramSpec = {
      device: 'cuda:0',
      arenaByteLength: 0,
      images: [image],
      buffers: Array.from({ length: 2 * count }, (_, i) => ({
        role: i < count ? 'input' : 'output',
        byteLength: 4 * (i % count),
        offset: -1,
      })),
      steps: Array.from({ length: count - 1 }, (_, i) => scale(i + 1, count + i + 1, i, i + 1)),
    };
    const inputs = Array.from({ length: count }, (_, i) => ramp(i));
    const { outputs } = await run(createProgram(spec), inputs, { outputs: Array(count).fill('host') });
    for (let i = 1; i < count; i++) expect(firstWrong(inputs[i]!, outputs[i], i - 1)).toBe(-1);
  });

  it('packs the end of one large buffer and the start of the next into a slot', async () => {
    const sizes = [1_500_001, 1_200_003, 7, 2_000_009];
    const spec: ProgramSpec = {
      device: 'cuda:0',
      arenaByteLength: 0,
      images: [image],
      buffers: [...sizes, ...sizes].map((n, i) => ({
        role: i < sizes.length ? 'input' : 'output',
        byteLength: 4 * n,
        offset: -1,
      })),
      steps: sizes.map((n, i) => scale(i, sizes.length + i, i + 2, n)),
    };
    const inputs = sizes.map((n, i) => ramp(n, 1000 + i));
    const { outputs } = await run(createProgram(spec), inputs, { outputs: sizes.map(() => 'host') });
    for (const [i, x] of inputs.entries()) expect(firstWrong(x, outputs[i], i + 2)).toBe(-1);
  });

  it('keeps results on the device and reads them there', async () => {
    const n = 100_000;
    const program = createProgram(sixTimes(n));
    const before = use().inUse;
    const first = await run(program, [ramp(n)], { outputs: ['device'] });
    const buffer = first.outputs[0]!;
    if (buffer instanceof ArrayBuffer) throw new Error('the result did not stay');
    expect(buffer.device).toBe('cuda:0');
    expect(use().inUse - before).toBe(4 * n);
    const second = await run(program, [buffer], { outputs: ['host'] });
    expect(firstWrong(ramp(n), second.outputs[0], 36)).toBe(-1);
    buffer.dispose();
    await trim();
    expect(use().inUse).toBe(before);
  });

  it('does not take a buffer of another device', async () => {
    const there = await run(createProgram(sixTimes(10, 'cuda:1')), [ramp(10)], { outputs: ['device'] });
    const mixed = run(createProgram(sixTimes(10)), [there.outputs[0] as never], { outputs: ['host'] });
    await expect(mixed).rejects.toBeInstanceOf(ArgumentError);
    (there.outputs[0] as DeviceBuffer).dispose();
  });

  it('sets outputs to zero, which come poisoned', async () => {
    const spec: ProgramSpec = {
      ...sixTimes(1000),
      steps: [scale(0, 1, 0, 1000), { kind: 'zero', buffer: 2 }],
    };
    const { outputs } = await run(createProgram(spec), [ramp(1000)], { outputs: ['host'] });
    expect(new Uint8Array(outputs[0] as ArrayBuffer).every((byte) => byte === 0)).toBe(true);
  });

  it('runs more launches than are queued ahead', async () => {
    const n = 8;
    const steps = Array.from({ length: 2001 }, (_, i) =>
      i === 0 ? scale(0, 1, 1, n) : scale(1, 1, i % 2 ? 2 : 0.5, n),
    );
    const { outputs } = await run(
      createProgram({ ...sixTimes(n), steps: [...steps, scale(1, 2, 1, n)] }),
      [ramp(n)],
      {
        outputs: ['host'],
      },
    );
    expect(firstWrong(ramp(n), outputs[0], 1)).toBe(-1);
  });

  it('stops when it is cancelled', async () => {
    const token = createCancel();
    cancel(token);
    const stopped = run(createProgram(sixTimes(1000)), [ramp(1000)], { outputs: ['host'], cancel: token });
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('a tensor map', () => {
  it('is of the address that its buffer has in each run, also in graphs', async () => {
    const program = createProgram(wordsOf({}));
    const kept: unknown[] = [];
    for (let i = 0; i < 8; i++) {
      const inputs = createProgram({ ...sixTimes(240), steps: [scale(0, 2, 1, 240)] });
      const { outputs: made } = await run(inputs, [ramp(240)], { outputs: ['device'] });
      kept.push(made[0]);
      const { outputs } = await run(program, [made[0] as DeviceBuffer], { outputs: ['host'] });
      const words = [...new BigUint64Array(outputs[0] as ArrayBuffer)].map(Number);
      expect(words).toEqual([0, 4, 12, 5, 3, 0, 0, 64, 320, 0, 0, 64, 256, 1, 0, 0]);
    }
  });

  it('that the driver refused is encoded in the next run', async () => {
    const inputs = createProgram({ ...sixTimes(240), steps: [scale(0, 2, 1, 240)] });
    const { outputs: made } = await run(inputs, [ramp(240)], { outputs: ['device'] });
    const program = createProgram(wordsOf({}));
    const runOnce = () => run(program, [made[0] as DeviceBuffer], { outputs: ['host'] });
    setFaults([{ call: 'cuTensorMapEncodeTiled', nth: 1, status: 999 }]);
    await expect(runOnce()).rejects.toThrow(/cuTensorMapEncodeTiled/);
    setFaults([]);
    const { outputs } = await runOnce();
    expect(new BigUint64Array(outputs[0] as ArrayBuffer)[1]).toBe(4n);
  });

  it.each(
    Object.entries({
      'beyond its buffer': { sizes: [12, 5, 4] },
      'beyond its buffer by a multiple of 2^64 bytes': {
        sizes: [12, 2 ** 28 + 1],
        strides: [2 ** 36],
        box: [64, 256],
      },
      'of a buffer that is not there': { buffer: 2 },
      'of elements of three bytes': { elementBytes: 3 },
      'of no axis': { sizes: [], strides: [], box: [] },
      'of six axes': { sizes: [1, 1, 1, 1, 1, 1], strides: [16, 16, 16, 16, 16], box: [4, 1, 1, 1, 1, 1] },
      'without a stride': { strides: [64] },
      'of rows that do not begin at 16 bytes': { strides: [60, 320] },
      'of strides of 40 bits': { strides: [64, 2 ** 40] },
      'of a box that is too large': { box: [64, 257, 1] },
      'of a box without elements': { box: [64, 0, 1] },
      'of a box whose rows are not whole chunks': { box: [3, 1, 1] },
      'of a box of other axes': { box: [64, 256] },
      'of sizes of 33 bits': { sizes: [12, 1, 2 ** 33], strides: [64, 16] },
    } satisfies Record<string, Partial<TensorMap>>),
  )('%s is refused', (_, map) => {
    expect(() => createProgram(wordsOf(map))).toThrow(ArgumentError);
  });

  it('of a buffer that is there in windows is refused', () => {
    expect(() => createProgram(wordsOf({}, { windowed: true }))).toThrow(/as a whole/);
  });
});

describe('matrix products', () => {
  type Order = 'rows' | 'columns';
  const operand = (buffer: number, rows: number, columns: number, order: Order) => ({
    buffer,
    offset: 0,
    batchStride: rows * columns,
    rowStride: order === 'rows' ? columns : 1,
    columnStride: order === 'rows' ? 1 : rows,
  });

  async function check(
    m: number,
    n: number,
    k: number,
    batch: number,
    orders: readonly [Order, Order, Order],
  ) {
    const [a, b, c] = [operand(0, m, k, orders[0]), operand(1, k, n, orders[1]), operand(2, m, n, orders[2])];
    const left = ramp(batch * m * k, 7);
    const right = ramp(batch * k * n, 5);
    const program = createProgram({
      device: 'cuda:0',
      arenaByteLength: 0,
      images: [],
      buffers: [
        { role: 'input', byteLength: left.byteLength, offset: -1 },
        { role: 'input', byteLength: right.byteLength, offset: -1 },
        { role: 'output', byteLength: 4 * batch * m * n, offset: -1 },
      ],
      steps: [{ kind: 'matmul', dtype: dtypeCode('float32'), m, n, k, batch, a, b, c }],
    });
    const { outputs } = await run(program, [left, right], { outputs: ['host'] });
    const result = new Float32Array(outputs[0] as ArrayBuffer);
    for (let item = 0; item < batch; item++) {
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let sum = 0;
          for (let p = 0; p < k; p++) {
            sum +=
              left[item * a.batchStride + i * a.rowStride + p * a.columnStride]! *
              right[item * b.batchStride + p * b.rowStride + j * b.columnStride]!;
          }
          expect(result[item * c.batchStride + i * c.rowStride + j * c.columnStride]).toBe(sum);
        }
      }
    }
  }

  const orders: readonly Order[] = ['rows', 'columns'];
  const shapes = [
    [3, 4, 5],
    [1, 4, 5],
    [3, 1, 5],
    [3, 4, 1],
    [1, 1, 5],
    [1, 4, 1],
    [1, 1, 1],
    [3, 4, 0],
    [0, 4, 5],
    [3, 0, 5],
  ] as const;
  it.each(shapes)('of (%d, %d) from k = %d are right in every order of every operand', async (m, n, k) => {
    for (const a of orders) {
      for (const b of orders) {
        for (const c of orders) {
          for (const batch of [1, 3, 0]) await check(m, n, k, batch, [a, b, c]);
        }
      }
    }
  });

  it('hold no memory between runs', async () => {
    await trim();
    expect(use().inUse).toBe(0);
  });
});

describe('the memory of a GPU', () => {
  it('is counted exactly while a result is out, and is free after a run', async () => {
    await trim();
    const { inUse, peak } = use();
    const n = 10_000_000;
    const { outputs } = await run(createProgram(sixTimes(n)), [ramp(n)], { outputs: ['device'] });
    expect(use().inUse - inUse).toBe(4 * n);
    // Input and temporary in one block, each rounded up to 256 bytes, and the result.
    expect(use().peak).toBe(Math.max(peak, inUse + 3 * 4 * n));
    expect(use().staging).toBeGreaterThan(0);
    (outputs[0] as { dispose(): void }).dispose();
  });

  it('that is too little is a MemoryError with the numbers, and the device goes on', async () => {
    const n = MEMORY_BYTES / 8;
    const failing = run(createProgram(sixTimes(n)), [new Float32Array(n)], { outputs: ['host'] });
    await expect(failing).rejects.toBeInstanceOf(MemoryError);
    await expect(failing).rejects.toMatchObject({ status: 'CUDA_ERROR_OUT_OF_MEMORY' });
    await expect(failing).rejects.toThrow(`of ${MEMORY_BYTES} are free`);
    const { outputs } = await run(createProgram(sixTimes(10)), [ramp(10)], { outputs: ['host'] });
    expect(firstWrong(ramp(10), outputs[0], 6)).toBe(-1);
  });
});

describe('a device that fails', () => {
  it('names the function that an image does not have', async () => {
    const step = { ...scale(0, 2, 1, 10), function: 'missing' } as StepSpec;
    const failing = run(createProgram({ ...sixTimes(10), steps: [step] }), [ramp(10)], { outputs: ['host'] });
    await expect(failing).rejects.toBeInstanceOf(DeviceError);
    await expect(failing).rejects.toThrow(/cuModuleGetFunction: CUDA_ERROR_NOT_FOUND/);
  });

  it('is lost for good after a fault, and other devices are not', async () => {
    const healthy = createProgram(sixTimes(10, 'cuda:1'));
    const faulty = createProgram({ ...sixTimes(10, 'cuda:1'), steps: [fault] });
    await run(healthy, [ramp(10)], { outputs: ['host'] });
    // Nothing comes back from the device, and still the run that has the fault is the one that fails.
    const failing = run(faulty, [ramp(10)], { outputs: ['device'] });
    await expect(failing).rejects.toBeInstanceOf(DeviceLostError);
    await expect(failing).rejects.toMatchObject({ status: 'CUDA_ERROR_ILLEGAL_ADDRESS' });
    await expect(run(healthy, [ramp(10)], { outputs: ['host'] })).rejects.toThrow(/cuda:1.*lost/);
    await expect(openDevice('cuda:1')).rejects.toBeInstanceOf(DeviceLostError);
    expect(takeProblems().map(({ kind }) => kind)).toEqual(['out-of-bounds']);
    await trim();
    const { outputs } = await run(createProgram(sixTimes(10)), [ramp(10)], { outputs: ['host'] });
    expect(firstWrong(ramp(10), outputs[0], 6)).toBe(-1);
  });

  it('of an ordinal that is not there is refused when a program is made', () => {
    expect(() => createProgram(sixTimes(10, 'cuda:2'))).toThrow(DeviceError);
  });

  it('does not run CPU tapes, nor memory that is not aligned', () => {
    const tape = { kind: 'tape', tape: 0, buffers: [] } as const;
    expect(() => createProgram({ ...sixTimes(10), steps: [tape] })).toThrow(ArgumentError);
    const spec = sixTimes(10);
    const buffers = spec.buffers.map((buffer) =>
      buffer.role === 'temporary' ? { ...buffer, offset: 64 } : buffer,
    );
    expect(() => createProgram({ ...spec, arenaByteLength: 200, buffers })).toThrow(/multiple of 256/);
  });
});

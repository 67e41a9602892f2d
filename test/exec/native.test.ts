/**
 * The native runtime on the CPU device: programs are checked when they are made, runs give and take memory as
 * they say, failures are the typed errors. Kernels have tests of their own; here programs are matrix products
 * and zeroing.
 */
import { describe, expect, it } from 'vitest';
import type { TapeSpec } from '../../src/codegen/cpu/tape.js';
import {
  cancel,
  compileCuda,
  cpuInfo,
  createCancel,
  createProgram,
  cudaEntryPoints,
  cudaInfo,
  memory,
  nvrtcVersion,
  openDevice,
  type ProgramSpec,
  probeCuda,
  type RunInput,
  run,
  runSmall,
  type StepSpec,
  smallResults,
  trim,
} from '../../src/exec/native/native.js';
import { addon } from '../../src/exec/native/native-addon.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { ArgumentError, CompileError, DeviceError } from '../../src/host/errors.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';

/** A square row-major matrix in a buffer. */
const matrix = (buffer: number, n: number) => ({
  buffer,
  offset: 0,
  batchStride: n * n,
  rowStride: n,
  columnStride: 1,
});

const product = (n: number, a: number, b: number, c: number): StepSpec => ({
  kind: 'matmul',
  dtype: dtypeCode('float32'),
  m: n,
  n,
  k: n,
  batch: 1,
  a: matrix(a, n),
  b: matrix(b, n),
  c: matrix(c, n),
});

/** (a · b) · b: two inputs, a temporary, an output. */
const spec = (n = 2): ProgramSpec => {
  const byteLength = 4 * n * n;
  return {
    device: 'cpu',
    arenaByteLength: byteLength,
    images: [],
    buffers: [
      { role: 'input', byteLength, offset: -1 },
      { role: 'input', byteLength, offset: -1 },
      { role: 'temporary', byteLength, offset: 0 },
      { role: 'output', byteLength, offset: -1 },
    ],
    steps: [product(n, 0, 1, 2), product(n, 2, 1, 3)],
  };
};

const a = new Float32Array([1, 2, 3, 4]);
const b = new Float32Array([0, 1, 1, 0]);
const floats = (buffer: unknown): number[] => [...new Float32Array(buffer as ArrayBuffer)];

describe('a program', () => {
  it('runs its steps in order, many times', async () => {
    const program = createProgram(spec());
    for (let i = 0; i < 3; i++) {
      const { outputs, nanoseconds } = await run(program, [a, b], { outputs: ['host'] });
      expect(floats(outputs[0])).toEqual([1, 2, 3, 4]);
      expect(nanoseconds).toBeGreaterThan(0);
    }
  });

  it('runs several times at once', async () => {
    const program = createProgram(spec());
    const runs = [1, 2, 3, 4, 5].map((x) => run(program, [a.map((v) => v * x), b], { outputs: ['host'] }));
    const results = await Promise.all(runs);
    expect(results.map(({ outputs }) => floats(outputs[0])[3])).toEqual([4, 8, 12, 16, 20]);
  });

  it('reads views at their offset', async () => {
    const wide = new Float32Array([9, 9, 1, 2, 3, 4, 9]);
    const { outputs } = await run(createProgram(spec()), [wide.subarray(2, 6), new DataView(b.buffer)], {
      outputs: ['host'],
    });
    expect(floats(outputs[0])).toEqual([1, 2, 3, 4]);
  });

  it('sets bytes to zero, and has outputs and inputs without elements', async () => {
    const program = createProgram({
      ...spec(),
      arenaByteLength: 0,
      buffers: [
        { role: 'input', byteLength: 0, offset: -1 },
        { role: 'output', byteLength: 100, offset: -1 },
        { role: 'output', byteLength: 0, offset: -1 },
      ],
      steps: [{ kind: 'zero', buffer: 1 }],
    });
    const { outputs } = await run(program, [new Int8Array(0)], { outputs: ['host', 'host'] });
    expect(new Uint8Array(outputs[0] as ArrayBuffer)).toEqual(new Uint8Array(100));
    expect(outputs[1]!.byteLength).toBe(0);
  });

  it('gives a result that stays on the device and goes into another run', async () => {
    const program = createProgram(spec());
    const { outputs } = await run(program, [b, a], { outputs: ['device'] });
    const buffer = outputs[0]!;
    if (buffer instanceof ArrayBuffer) throw new Error('the result did not stay');
    expect(buffer).toMatchObject({ device: 'cpu', byteLength: 16, disposed: false });
    const second = await run(program, [buffer, b], { outputs: ['host'] });
    buffer.dispose();
    buffer.dispose();
    expect(buffer.disposed).toBe(true);
    // b·a·a, times b twice, which is the identity.
    expect(floats(second.outputs[0])).toEqual([15, 22, 7, 10]);
    await expect(run(program, [buffer, b], { outputs: ['host'] })).rejects.toThrow(/not disposed/);
  });

  it('uses a buffer that is disposed while a run reads it', async () => {
    const program = createProgram(spec());
    const { outputs } = await run(program, [a, b], { outputs: ['device'] });
    const buffer = outputs[0]!;
    if (buffer instanceof ArrayBuffer) throw new Error('the result did not stay');
    const reading = run(program, [buffer, b], { outputs: ['host'] });
    buffer.dispose();
    expect(floats((await reading).outputs[0])).toEqual([1, 2, 3, 4]);
  });
});

describe('a malformed program', () => {
  const changes: Record<string, object> = {
    'of no device': { device: 7 },
    'without buffers': { buffers: undefined },
    'with a buffer of no role': { buffers: [{ role: 'scratch', byteLength: 4, offset: 0 }] },
    'with a buffer of negative size': { buffers: [{ role: 'input', byteLength: -4, offset: 0 }] },
    'with a buffer of NaN bytes': { buffers: [{ role: 'input', byteLength: Number.NaN, offset: 0 }] },
    'with a temporary outside its arena': { arenaByteLength: 8 },
    'of copies through no memory': { copyByteLength: 0 },
    'with a temporary that overflows': {
      buffers: [{ role: 'temporary', byteLength: 2 ** 53 - 1, offset: 2 ** 53 - 64 }],
    },
    'with a temporary that is not aligned': {
      arenaByteLength: 100,
      buffers: [{ role: 'temporary', byteLength: 4, offset: 4 }],
      steps: [],
    },
    'with a step of no kind': { steps: [{ kind: 'sort' }] },
    'with a step that is no object': { steps: [null] },
    'that zeroes an input': { steps: [{ kind: 'zero', buffer: 0 }] },
    'that multiplies into an input': { steps: [product(2, 0, 1, 1)] },
    'with a buffer that does not exist': { steps: [{ kind: 'zero', buffer: 4 }] },
    'with a fractional buffer': { steps: [{ kind: 'zero', buffer: 0.5 }] },
    'with a product beyond its operands': { steps: [{ ...product(2, 0, 1, 3), k: 3 }] },
    'with a product of integers': { steps: [{ ...product(2, 0, 1, 3), dtype: dtypeCode('int32') }] },
    'with strides that reach before a buffer': {
      steps: [{ ...product(2, 0, 1, 3), a: { ...matrix(0, 2), rowStride: -2 } }],
    },
    'with a launch on the CPU': {
      steps: [
        {
          kind: 'launch',
          image: 0,
          function: 'f',
          grid: [1, 1, 1],
          block: [1, 1, 1],
          sharedByteLength: 0,
          args: [],
        },
      ],
    },
    'with a tape that is none': { tapes: [{}] },
    'with a step of a tape that is not there': { tapes: [], steps: [{ kind: 'tape', tape: 0, buffers: [] }] },
  };
  it.each(Object.entries(changes))('%s is refused', (_, change) => {
    expect(() => createProgram({ ...spec(), ...change } as ProgramSpec)).toThrow(ArgumentError);
  });

  it('for a device that does not exist is refused', () => {
    expect(() => createProgram({ ...spec(), device: 'tpu' })).toThrow(DeviceError);
    expect(() => createProgram({ ...spec(), device: 'cuda:99' })).toThrow(DeviceError);
  });

  it('with steps before all buffers, or an end before all steps', () => {
    const given = spec();
    const draft = addon().beginProgram(given);
    addon().addBuffers(draft, given, given.buffers.length - 1);
    expect(() => addon().addSteps(draft, given, 1)).toThrow(/buffers/);
    expect(() => addon().endProgram(draft, given)).toThrow(/buffers/);
    expect(() => addon().addBuffers(draft, given, 2)).toThrow(/count/);
    addon().addBuffers(draft, given, 1);
    expect(() => addon().endProgram(draft, given)).toThrow(/steps/);
    addon().addSteps(draft, given, given.steps.length);
    expect(addon().endProgram(draft, given)).toBeTypeOf('object');
  });

  it('with steps before all tapes', () => {
    const given = { ...spec(), tapes: [{} as TapeSpec] };
    const draft = addon().beginProgram(given);
    addon().addBuffers(draft, given, given.buffers.length);
    expect(() => addon().addSteps(draft, given, 1)).toThrow(/tapes/);
  });

  it('passes on what a getter of the user throws', () => {
    const thrown = new Error('mine');
    const getter = {
      ...spec(),
      get buffers(): never {
        throw thrown;
      },
    };
    expect(() => createProgram(getter)).toThrow(thrown);
  });
});

describe('a run that does not fit its program is refused', () => {
  const program = createProgram(spec());
  const refused = (inputs: readonly unknown[], outputs: readonly string[] = ['host']) =>
    expect(run(program, inputs as Float32Array[], { outputs: outputs as 'host'[] })).rejects;

  it('for too few or too many inputs', async () => {
    await refused([a]).toBeInstanceOf(ArgumentError);
    await refused([a, b, b]).toBeInstanceOf(ArgumentError);
  });
  it('for inputs of another size', () => refused([a, new Float32Array(5)]).toBeInstanceOf(ArgumentError));
  it('for places of outputs that are not there', () => refused([a, b], []).toBeInstanceOf(ArgumentError));
  it('for what is no array', () => refused([a, {}]).toBeInstanceOf(ArgumentError));
  it('for a detached array', async () => {
    const gone = new Float32Array(4);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    await refused([a, gone]).toBeInstanceOf(ArgumentError);
  });
  it('for what is no program', async () => {
    await expect(run({} as typeof program, [a, b], { outputs: ['host'] })).rejects.toBeInstanceOf(
      ArgumentError,
    );
    await expect(run(createCancel() as typeof program, [a, b], { outputs: ['host'] })).rejects.toBeInstanceOf(
      ArgumentError,
    );
  });
});

describe('a small run', () => {
  const short = (): ProgramSpec => ({ ...spec(), isShort: true });
  const small = createProgram(short());
  const computed = (program: typeof small, inputs: readonly RunInput[]): ArrayBuffer[] | undefined => {
    const results = smallResults(program)?.map((byteLength) => new ArrayBuffer(byteLength));
    return results !== undefined && runSmall(program, inputs, results, undefined) ? results : undefined;
  };

  it('gives its results in the call, in memory of their own', async () => {
    const [first] = computed(small, [a, b])!;
    const [second] = computed(small, [b, a])!;
    expect([first, second].map(floats)).toEqual([
      [1, 2, 3, 4],
      [15, 22, 7, 10],
    ]);
    const { outputs } = await run(small, [a, b], { outputs: ['host'] });
    expect(outputs.map(floats)).toEqual([[1, 2, 3, 4]]);
    const [stored] = (await run(small, [a, b], { outputs: ['device'] })).outputs;
    expect(computed(small, [stored as DeviceBuffer, b])!.map(floats)).toEqual([[1, 2, 3, 4]]);
  });

  it('computes nothing where others are to find out what is wrong, or do the work', () => {
    const gone = new Float32Array(4);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    for (const input of [gone, new Float32Array(3), new Float32Array(5), { chunks: [new Uint8Array(16)] }])
      expect(computed(small, [a, input])).toBe(undefined);
    expect(computed(small, [a])).toBe(undefined);
    const withoutShortCalls = createProgram(spec());
    expect(computed(withoutShortCalls, [a, b])).toBe(undefined);
    expect(smallResults(withoutShortCalls)).toBe(undefined);
  });

  it('is refused for what is no program, and for a result of other bytes', () => {
    expect(() => smallResults(createCancel() as typeof small)).toThrow(ArgumentError);
    const given = short();
    const draft = addon().beginProgram(given);
    addon().addBuffers(draft, given, given.buffers.length);
    addon().addSteps(draft, given, given.steps.length);
    const program = addon().endProgram(draft, given);
    for (const result of [new ArrayBuffer(12), new Float32Array(4), undefined])
      expect(() => addon().runSmall(program, 0xffffffff, a, b, result)).toThrow(/output 0/);
    expect(addon().runSmall(program, 0xffffffff, a, b, new ArrayBuffer(16))).toBe(undefined);
  });
});

describe('cancelling', () => {
  it('stops a run that has not begun', async () => {
    const token = createCancel();
    cancel(token);
    const stopped = run(createProgram(spec()), [a, b], { outputs: ['host'], cancel: token });
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('stops a run between and inside its steps, long before its end', async () => {
    const n = 512;
    const long = spec(n);
    const steps = Array.from({ length: 4000 }, (_, i) =>
      product(n, i % 2 === 0 ? 0 : 2, 1, i % 2 === 0 ? 2 : 3),
    );
    const token = createCancel();
    const work = run(createProgram({ ...long, steps }), [new Float32Array(n * n), new Float32Array(n * n)], {
      outputs: ['host'],
      cancel: token,
    });
    setTimeout(() => cancel(token), 30);
    // Processor time, all of it some twenty times as much.
    const start = process.cpuUsage();
    await expect(work).rejects.toMatchObject({ name: 'AbortError' });
    expect(process.cpuUsage(start).user).toBeLessThan(1e6);
  });
});

describe('the account of memory', () => {
  it('counts a device result until it is disposed', async () => {
    const byteLength = 8 * 2 ** 20;
    const program = createProgram({
      ...spec(),
      arenaByteLength: 0,
      buffers: [{ role: 'output', byteLength, offset: -1 }],
      steps: [{ kind: 'zero', buffer: 0 }],
    });
    const inUse = (): number => memory().find(({ device }) => device === 'cpu')!.inUse;
    const before = inUse();
    const { outputs } = await run(program, [], { outputs: ['device'] });
    expect(inUse() - before).toBeGreaterThanOrEqual(byteLength);
    expect(inUse() - before).toBeLessThan(2 * byteLength);
    (outputs[0] as { dispose(): void }).dispose();
    expect(inUse()).toBeLessThanOrEqual(before);
  });

  it('gives back what is held when it is trimmed', async () => {
    await trim();
    const [cpu] = memory();
    expect(cpu!.held).toBeLessThan(cpu!.inUse + 2 ** 21);
  });
});

describe('what was found', () => {
  it('on the CPU is described', () => {
    expect(cpuInfo().threads).toBeGreaterThan(0);
    expect(['avx512', 'avx2', 'baseline', 'neon']).toContain(cpuInfo().isa);
  });

  it('of CUDA is described without throwing, with what was tried for what is missing', async () => {
    await probeCuda();
    const info = cudaInfo();
    for (const name of ['driver', 'nvrtc', 'cublas', 'cublasLt', 'cufft', 'cusolver', 'cudss'] as const) {
      if (info[name] === null) expect(info.tried[name].length).toBeGreaterThan(0);
      else
        expect(info[name]).toMatchObject({
          path: expect.stringContaining('/'),
          version: expect.stringMatching(/^\d+\.\d+$/),
        });
    }
    if (info.driver === null) expect(info.devices).toEqual([]);
  });

  it('lists each entry point that is looked up once', () => {
    for (const symbols of Object.values(cudaEntryPoints())) {
      expect(symbols.length).toBeGreaterThan(7);
      expect(new Set(symbols).size).toBe(symbols.length);
    }
    expect(cudaEntryPoints().driver).toContain('cuMemAllocFromPoolAsync');
  });

  it('says that the CPU is not opened', () => {
    expect(() => openDevice('cpu')).toThrow(ArgumentError);
  });
});

describe('NVRTC', () => {
  it.runIf(withoutNvrtc)(
    `is missed with a message that says what was tried${withoutNvrtc ? '' : ' (skipped: it was found)'}`,
    () => {
      expect(() => nvrtcVersion()).toThrow(/libnvrtc/);
    },
  );

  it.skipIf(withoutNvrtc)(`compiles sources at once to machine code${whyNoNvrtc}`, async () => {
    const sources = [1, 2, 3, 4, 5].map(
      (k) => `extern "C" __global__ void f${k}(float *x) { x[${k}] = ${k}; }`,
    );
    const images = await Promise.all(
      sources.map((source) => compileCuda(source, ['--gpu-architecture=sm_90'])),
    );
    for (const [i, { image }] of images.entries()) {
      const text = Buffer.from(image).toString('latin1');
      expect(text.slice(1, 4)).toBe('ELF');
      expect(text).toContain(`f${i + 1}`);
    }
  });

  it.skipIf(withoutNvrtc)(`reports a faulty source with its numbered lines${whyNoNvrtc}`, async () => {
    const failing = compileCuda('int ok;\nnonsense', ['--gpu-architecture=sm_90']);
    await expect(failing).rejects.toBeInstanceOf(CompileError);
    await expect(failing).rejects.toThrow(/ 2 \| nonsense/);
    await expect(failing).rejects.toThrow(/NVRTC_ERROR_COMPILATION/);
  });
});

/** Runs that share the tiles of a sweep by a tile queue: what they are given, and what they do. */
import { describe, expect, it } from 'vitest';
import {
  allocateHost,
  createProgram,
  createTileQueue,
  hostBytesOf,
  type ProgramSpec,
  run,
  type SweepSpec,
} from '../../src/exec/native/native.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { ArgumentError } from '../../src/index.js';
import { cudaSweepProgram } from '../support/cuda-sweep-runner.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { generator } from '../support/random.js';
import { describeSimulator, setDevices, setFaults } from './simulator.js';

setDevices([{}, {}]);

const ROWS = 64;
const COLUMNS = 96;
const input = Float32Array.from({ length: ROWS * COLUMNS }, (_, k) => Math.cos(k));
const kernel = (() => {
  const b = new KernelBuilder([ROWS, COLUMNS]);
  const x = b.load('float32', [COLUMNS, 1]);
  return b.store(b.map('multiply', x, x)).build('squares');
})();

/** A map in tiles, each a part by itself, and what its sweep is to be besides. */
async function specOf(
  device: string,
  changes: (sweep: SweepSpec) => Partial<SweepSpec>,
): Promise<ProgramSpec> {
  const spec = (await cudaSweepProgram(kernel, { by: 'rows', next: generator(3), slots: 2, device }))!;
  const [sweep] = spec.steps as [SweepSpec];
  return { ...spec, steps: [{ ...sweep, ...changes(sweep) }] };
}
const each = ({ tiles }: SweepSpec): Float64Array => Float64Array.from({ length: tiles }, (_, t) => t);
const tilesOf = ({ steps }: ProgramSpec): number => (steps[0] as SweepSpec).tiles;

describe('runs with the same tile queue', () => {
  it('do each part once', async () => {
    const specs = await Promise.all(
      ['cuda:0', 'cuda:1'].map((device) => specOf(device, (sweep) => ({ queueParts: each(sweep) }))),
    );
    const tiles = tilesOf(specs[0]!);
    expect(tiles).toBeGreaterThan(2);
    const result = allocateHost('cuda:0', 4 * ROWS * COLUMNS, undefined);
    const tileQueue = createTileQueue(tiles);
    const outputs = [result];
    setFaults([]);
    // The first one is alone: it does all. Then nothing is left.
    for (const spec of specs) await run(createProgram(spec), [input], { outputs, tileQueue });
    expect(describeSimulator().counts['run launch']).toBe(tiles);
    setFaults([]);
    const again = createTileQueue(tiles);
    await Promise.all(specs.map((spec) => run(createProgram(spec), [input], { outputs, tileQueue: again })));
    expect(describeSimulator().counts['run launch']).toBe(tiles);
    expect(new Float32Array(hostBytesOf(result))).toEqual(input.map((x) => x * x));
  });

  it('are refused what is no host memory of a result that there are windows of', async () => {
    const spec = await specOf('cuda:0', () => ({}));
    const program = createProgram(spec);
    const buffers = spec.buffers.map(({ windowed: _, ...buffer }) => buffer);
    const whole = createProgram({ ...spec, steps: [], buffers });
    const byteLength = 4 * ROWS * COLUMNS;
    const [fitting, short, disposed] = [byteLength, byteLength - 4, byteLength].map((length) =>
      allocateHost('cuda:0', length, undefined),
    );
    disposed!.dispose();
    const { outputs } = await run(whole, [input], { outputs: ['device'] });
    const onDevice = outputs[0] as DeviceBuffer;
    for (const place of [disposed!, onDevice, short!])
      await expect(run(program, [input], { outputs: [place] })).rejects.toThrow(ArgumentError);
    const refused = run(whole, [input], { outputs: [fitting!] });
    await expect(refused).rejects.toThrow(/no memory for this output/);
    await run(program, [input], { outputs: [fitting!] });
    expect(new Float32Array(hostBytesOf(fitting!))).toEqual(input.map((x) => x * x));
    for (const buffer of [onDevice, short!]) buffer.dispose();
  });

  it('are given as many parts as the program has, and no program without any is given some', async () => {
    const spec = await specOf('cuda:0', (sweep) => ({ queueParts: each(sweep) }));
    const tiles = tilesOf(spec);
    const outputs = ['host'] as const;
    for (const tileQueue of [undefined, {}, createTileQueue(tiles + 1)])
      await expect(run(createProgram(spec), [input], { outputs, tileQueue })).rejects.toThrow(ArgumentError);
    const without = createProgram(await specOf('cuda:0', () => ({})));
    await expect(run(without, [input], { outputs, tileQueue: createTileQueue(tiles) })).rejects.toThrow(
      ArgumentError,
    );
    for (const count of [0, -1, 1.5, Number.NaN]) expect(() => createTileQueue(count)).toThrow(ArgumentError);
  });
});

describe('a program with parts of a tile queue', () => {
  const rejected = async (changes: (sweep: SweepSpec) => Partial<SweepSpec>): Promise<void> => {
    const spec = await specOf('cuda:0', changes);
    expect(() => createProgram(spec)).toThrow(ArgumentError);
  };

  it('has one for each tile, of parts whose tiles are in a row', async () => {
    await rejected((sweep) => ({ queueParts: each(sweep).subarray(1) }));
    await rejected((sweep) => ({ queueParts: each(sweep).map((t) => t + 1) }));
    await rejected((sweep) => ({ queueParts: each(sweep).map((t) => t / 2) }));
    await rejected((sweep) => ({ queueParts: each(sweep).map((t) => t % 2) }));
    await rejected((sweep) => ({ queueParts: [...each(sweep)] as unknown as Float64Array }));
  });

  it('has them for one sweep of a GPU, which is in no loop', async () => {
    const spec = await specOf('cuda:0', (sweep) => ({ queueParts: each(sweep) }));
    const loop = { kind: 'loop', steps: 1, condition: -1, every: 0, stepsAtOnce: 1, states: [] } as const;
    const wrong: ProgramSpec[] = [
      { ...spec, steps: [...spec.steps, ...spec.steps] },
      { ...spec, steps: [{ ...loop, body: spec.steps }] },
      { ...spec, device: 'cpu' },
    ];
    for (const one of wrong) expect(() => createProgram(one)).toThrow(/queueParts/);
  });
});

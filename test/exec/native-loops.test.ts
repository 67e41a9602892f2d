/**
 * Loops of the native runtime on the CPU device: where states lie step by step, and what of a spec is
 * refused. Bodies are matrix products; loops of expressions have tests of their own (`loops.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { createProgram, type ProgramSpec, run, type StepSpec } from '../../src/exec/native/native.js';
import type { LoopSpec } from '../../src/exec/native/program-types.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import { ArgumentError } from '../../src/host/errors.js';

const matrix = (buffer: number) => ({ buffer, offset: 0, batchStride: 4, rowStride: 2, columnStride: 1 });
const product = (a: number, b: number, c: number): StepSpec => ({
  kind: 'matmul',
  dtype: dtypeCode('float32'),
  m: 2,
  n: 2,
  k: 2,
  batch: 1,
  a: matrix(a),
  b: matrix(b),
  c: matrix(c),
});

const [FACTOR, START, RESULT, OTHER, CURRENT, NEXT, KEPT] = [0, 1, 2, 3, 4, 5, 6];
const STATE = { initial: START, current: CURRENT, next: NEXT, last: RESULT, other: OTHER, kept: -1 };
const CHECK = { image: 0, begin: 'begin', goOn: 'goOn', record: OTHER };
const body = product(CURRENT, FACTOR, NEXT) as LoopSpec['body'][number];
const loop = (change: Partial<LoopSpec> = {}): LoopSpec => ({
  kind: 'loop',
  steps: 3,
  condition: -1,
  every: 0,
  stepsAtOnce: 1,
  states: [STATE],
  body: [body],
  ...change,
});

/** start · factor · factor …; two states may be kept. */
const specOf = (...steps: StepSpec[]): ProgramSpec => ({
  device: 'cpu',
  arenaByteLength: 64,
  images: [],
  buffers: [
    { role: 'input', byteLength: 16, offset: -1 },
    { role: 'input', byteLength: 16, offset: -1 },
    { role: 'output', byteLength: 16, offset: -1 },
    { role: 'temporary', byteLength: 16, offset: 0 },
    { role: 'state', byteLength: 16, offset: 0 },
    { role: 'state', byteLength: 16, offset: 0 },
    { role: 'output', byteLength: 32, offset: -1 },
  ],
  steps,
});

const factor = new Float32Array([1, 1, 0, 1]);
const start = new Float32Array([1, 0, 0, 1]);

async function resultsOf(...steps: StepSpec[]): Promise<number[][]> {
  const program = createProgram(specOf(...steps));
  const { outputs } = await run(program, [factor, start], { outputs: ['host', 'host'] });
  return outputs.map((bytes) => [...new Float32Array(bytes as ArrayBuffer)]);
}

const raised = (n: number): number[] => [1, n, 0, 1];
const keeping = (change: Partial<LoopSpec>): LoopSpec =>
  loop({ states: [{ ...STATE, kept: KEPT }], ...change });

describe('a loop', () => {
  it('leaves the last state in its place, after an even and after an odd number of steps', async () => {
    for (const steps of [1, 2, 3, 8]) expect((await resultsOf(loop({ steps })))[0]).toEqual(raised(steps));
    expect([...start]).toEqual([1, 0, 0, 1]);
  });

  it('keeps states on the way', async () => {
    const [last, kept] = await resultsOf(keeping({ steps: 6, every: 3 }));
    expect([last, kept]).toEqual([raised(6), [...raised(3), ...raised(6)]]);
  });

  it('needs one buffer for its states where its body is run once', async () => {
    const once = loop({ steps: 1, states: [{ ...STATE, other: -1 }] });
    expect((await resultsOf(once))[0]).toEqual(raised(1));
    expect((await resultsOf({ ...once, steps: 8, stepsAtOnce: 8 }))[0]).toEqual(raised(1));
  });

  it('takes what a body does at once for as many steps', async () => {
    // The body does one step; declared to do three, it is run for steps 3, 3 and 1.
    expect((await resultsOf(loop({ steps: 7, stepsAtOnce: 3 })))[0]).toEqual(raised(3));
    const [, kept] = await resultsOf(keeping({ steps: 10, every: 5, stepsAtOnce: 3 }));
    expect(kept).toEqual([...raised(2), ...raised(4)]);
  });

  it('goes on while a state of one byte is not 0', async () => {
    const spec: ProgramSpec = {
      ...specOf(),
      buffers: [
        ...specOf().buffers,
        { role: 'input', byteLength: 1, offset: -1 },
        { role: 'state', byteLength: 1, offset: 0 },
        { role: 'state', byteLength: 1, offset: 0 },
        { role: 'temporary', byteLength: 1, offset: 0 },
        { role: 'temporary', byteLength: 1, offset: 0 },
      ].map((buffer, k) =>
        buffer.role === 'temporary' ? { ...buffer, offset: 64 * (k % 4) } : buffer,
      ) as never,
      arenaByteLength: 256,
      steps: [
        loop({
          steps: 5,
          condition: 1,
          states: [STATE, { initial: 7, current: 8, next: 9, last: 10, other: 11, kept: -1 }],
          // The next condition is that there is none.
          body: [body, { kind: 'zero', buffer: 9 }],
        }),
      ],
    };
    const program = createProgram(spec);
    const first = async (goes: number): Promise<number[]> => {
      const { outputs } = await run(program, [factor, start, new Uint8Array([goes])], {
        outputs: ['host', 'host'],
      });
      return [...new Float32Array(outputs[0] as ArrayBuffer)];
    };
    expect(await first(0)).toEqual(raised(0));
    expect(await first(1)).toEqual(raised(1));
  });
});

describe('a malformed loop', () => {
  const state = (change: Partial<typeof STATE>): LoopSpec => loop({ states: [{ ...STATE, ...change }] });
  const changes: Readonly<Record<string, readonly StepSpec[]>> = {
    'of no steps': [loop({ steps: 0 })],
    'that keeps more often than it steps': [keeping({ steps: 3, every: 4 })],
    'that ends between two states that are kept': [keeping({ steps: 5, every: 2 })],
    'that keeps more than there is room for': [keeping({ steps: 3, every: 1 })],
    'that runs no step at once': [loop({ stepsAtOnce: 0 })],
    'whose condition is no state': [loop({ condition: 1 })],
    'whose condition is more than one byte': [loop({ condition: 0 })],
    'that would be decided on with no condition': [loop({ check: CHECK })],
    'that needs another buffer and has none': [state({ other: -1 })],
    'with a condition whose states lie in one buffer': [
      loop({ condition: 0, states: [{ ...STATE, other: RESULT }] }),
    ],
    'that would write to its start': [state({ initial: OTHER })],
    'that would write to an input': [state({ other: FACTOR })],
    'whose state has memory of its own': [state({ current: OTHER })],
    'whose states differ in size': [state({ last: KEPT })],
    'whose body writes the state that it reads': [
      loop({ body: [product(NEXT, FACTOR, CURRENT) as LoopSpec['body'][number]] }),
    ],
    'whose states are used outside': [product(CURRENT, FACTOR, RESULT)],
    'whose states are used after it': [loop(), product(NEXT, FACTOR, RESULT)],
    'of sweeps with windows of states that have none': [
      loop({
        body: [
          {
            kind: 'sweep',
            tiles: 0,
            buffers: [
              {
                buffer: CURRENT,
                direction: 'in',
                offset: 0,
                slotByteLength: 0,
                slots: 0,
                slotPitch: 0,
                windows: new Float64Array(0),
              },
            ],
            body: [],
          },
        ],
      }),
    ],
    'of products in a sweep': [
      {
        kind: 'sweep',
        tiles: 0,
        buffers: [],
        body: [{ step: loop() as never, ranges: new Float64Array(0) }],
      },
    ],
  };
  it.each([
    ['an image that is not there', { image: 1 }],
    ['a record of other bytes', { record: OTHER }],
    ['a record that is no temporary', { record: START }],
    ['a state that is written in place', { other: RESULT }],
  ])('that is decided on with %s is refused', (_, change: Partial<typeof CHECK & typeof STATE>) => {
    const own = { initial: 8, current: 9, next: 10, last: 11, other: 12, kept: -1 };
    const states = [{ ...STATE, other: change.other ?? OTHER }, own];
    const { other: __, ...ofCheck } = change;
    const check = { ...CHECK, record: 7, ...ofCheck };
    const zeroes = { kind: 'zero', buffer: 10 } as const;
    const spec = (isGiven: boolean): ProgramSpec => {
      const base = specOf(loop({ condition: 1, states, body: [zeroes], ...(isGiven ? { check } : {}) }));
      const temporary = (byteLength: number, offset: number) =>
        ({ role: 'temporary', byteLength, offset }) as const;
      const byte = (role: 'input' | 'state') => ({ role, byteLength: 1, offset: 0 }) as const;
      const more = [temporary(24, 64), byte('input'), byte('state'), byte('state')];
      const buffers = [...base.buffers, ...more, temporary(1, 128), temporary(1, 192)];
      const images = [{ key: 'image', bytes: new Uint8Array(1) }];
      return { ...base, arenaByteLength: 256, images, buffers };
    };
    expect(() => createProgram(spec(false))).not.toThrow();
    expect(() => createProgram(spec(true))).toThrow(ArgumentError);
    expect(() => createProgram(spec(true))).toThrow(/check/);
  });

  it.each(Object.entries(changes))('%s is refused', (_, steps) => {
    expect(() => createProgram(specOf(...steps))).toThrow(ArgumentError);
  });
});

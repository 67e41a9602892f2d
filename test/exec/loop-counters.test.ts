/** Which loops pass the number of the step to their kernels. */
import { describe, expect, it } from 'vitest';
import { withLoopCounters } from '../../src/exec/plan/loop-counters.js';
import type { KernelStep, LoopStep } from '../../src/exec/plan/plan.js';
import type { StepList } from '../../src/exec/plan/step-list.js';
import { create } from '../../src/fusion/kernel/instruction.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';

const at = (buffer: number, strides: readonly number[] = []) => ({ buffer, offset: 0, strides, bounds: [] });
const kernelStep = (kernel: Kernel, buffers: readonly number[]): KernelStep => ({
  kind: 'kernel',
  kernel,
  buffers,
  scratch: [],
  nodes: [],
});

/** i → i + `by`. */
const counting = (by: bigint): Kernel => ({
  name: 'map_add',
  parallel: [],
  reduced: [],
  buffers: [
    { dtype: 'int64', role: 'input', elementCount: 1 },
    { dtype: 'int64', role: 'output', elementCount: 1 },
  ],
  tape: [create.load('int64', at(0)), create.constant('int64', by), create.map('int64', 'add', [0, 1])],
  stores: [{ value: 2, access: at(1) }],
});

/** x, i → x + i. */
const adding = (strides: readonly number[]): Kernel => ({
  name: 'map_add',
  parallel: [8],
  reduced: [],
  buffers: [
    { dtype: 'int64', role: 'input', elementCount: 8 },
    { dtype: 'int64', role: 'input', elementCount: 8 },
    { dtype: 'int64', role: 'output', elementCount: 8 },
  ],
  tape: [
    create.load('int64', at(0, [1])),
    create.load('int64', at(1, strides)),
    create.map('int64', 'add', [0, 1]),
  ],
  stores: [{ value: 2, access: at(2, [1]) }],
});

const X = { initial: 0, current: 1, next: 2, last: 3, other: 4, kept: -1 };
const I = { initial: 5, current: 6, next: 7, last: 8, other: 9, kept: -1 };

interface Change {
  readonly loop?: Partial<LoopStep>;
  readonly by?: bigint;
  readonly strides?: readonly number[];
  /** Of the number's last state. */
  readonly role?: 'output' | 'temporary';
}

function stepListOf({ loop = {}, by = 1n, strides = [0], role = 'temporary' }: Change): StepList {
  const roles = [
    'input',
    'state',
    'state',
    'output',
    'temporary',
    'temporary',
    'state',
    'state',
    role,
    'temporary',
  ];
  const step: LoopStep = {
    kind: 'loop',
    steps: 20,
    condition: -1,
    every: 0,
    stepsAtOnce: 1,
    states: [X, I],
    body: [
      kernelStep(adding(strides), [X.current, I.current, X.next]),
      kernelStep(counting(by), [I.current, I.next]),
    ],
    nodes: [],
    ...loop,
  };
  const buffers = roles.map((each, k) => ({
    key: `${k}`,
    role: each as 'input',
    byteLength: 8,
    source: -1,
    isStored: false,
    isRead: false,
  }));
  return { buffers, steps: [step], outputKeys: [] };
}

const counted = (change: Change, stepsAtOnce = 4): LoopStep =>
  withLoopCounters(stepListOf(change), { stepsAtOnce: () => stepsAtOnce }).steps[0] as LoopStep;

describe('a loop that counts its steps', () => {
  it('is one kernel that reads the first number, and does several steps', () => {
    const { body, states, stepsAtOnce } = counted({});
    expect(stepsAtOnce).toBe(4);
    expect(states).toMatchObject([{ current: X.current }]);
    expect(body).toMatchObject([
      {
        buffers: [X.current, I.initial, X.next],
        kernel: { counters: [1], carried: [{ input: 0, output: 2 }] },
      },
    ]);
  });

  it.each<[string, Change, number?]>([
    ['its kernel does one step', {}, 1],
    ['it counts by something else', { by: 2n }],
    ['another number is read for each element', { strides: [1] }],
    ['the last number is a result', { role: 'output' }],
    ['it has a condition', { loop: { condition: 0 } }],
    ['the numbers are kept', { loop: { every: 5, states: [X, { ...I, kept: 3 }] } }],
    ['there is nothing else', { loop: { states: [I], body: [kernelStep(counting(1n), [6, 7])] } }],
  ])('stays as it is where %s', (_, change, stepsAtOnce = 4) => {
    const stepList = stepListOf(change);
    expect(withLoopCounters(stepList, { stepsAtOnce: () => stepsAtOnce })).toBe(stepList);
  });

  it('stays as it is on a device that does one step at a time', () => {
    const stepList = stepListOf({});
    expect(withLoopCounters(stepList, {})).toBe(stepList);
  });
});

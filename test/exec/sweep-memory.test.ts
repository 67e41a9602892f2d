/** What planning remembers of sweeps: tasks that differ in nothing that their tiles depend on are sized once. */
import { expect, it } from 'vitest';
import type { KernelStep } from '../../src/exec/plan/plan.js';
import { SweepMemory } from '../../src/exec/tiles/sweep-memory.js';
import { type SizedSweep, type Sizer, type SlotRules, sweepSizer } from '../../src/exec/tiles/sweep-slots.js';
import type { SweptTask } from '../../src/exec/tiles/sweep-windows.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { completed } from '../../src/host/slices.js';

const kernelOf = (size: number): Kernel => ({
  name: 'k',
  parallel: [size],
  reduced: [],
  buffers: [],
  tape: [],
  stores: [],
});
const kernel = kernelOf(8);
const taskOf = (reads: readonly number[], own: Kernel = kernel, isKept = true): SweptTask => {
  const step = { kind: 'kernel', kernel: own, buffers: [...reads, 9], scratch: [] } as unknown as KernelStep;
  const touchOf = (buffer: number) => ({ buffer, first: 0, last: 100 });
  const touches = () => ({ reads: reads.map(touchOf), writes: [touchOf(9)] });
  const cut: SweptTask['task']['cut'] = { units: 1, touches, ranges: () => [], pitches: () => [] };
  return { task: { step, reads, writes: [9], cut, repeats: true }, isKept };
};
const rulesOf = (windowed: readonly number[], bytes = 100): SlotRules =>
  ({
    isWindowed: (buffer: number) => windowed.includes(buffer),
    byteLengthOf: () => bytes,
    directionOf: () => 'in',
    pitches: new Map(),
    slots: { in: 1, out: 1, local: 1 },
    tileBytes: 1000,
  }) as unknown as SlotRules;

it('sizes a sweep again only where a buffer that it touches is held otherwise', () => {
  const memory = new SweepMemory();
  let [made, asked] = [0, 0];
  const sizedFor = (task: SweptTask, rules: SlotRules): void => {
    const make = () => {
      made++;
      return function* (room: number) {
        yield* [];
        asked++;
        return { needed: room, step: task.task.step };
      };
    };
    completed(memory.sizer([task], 'tiles', rules, make)(1000));
  };
  const expectMade = (count: number): void => expect([made, asked]).toEqual([count, count]);
  sizedFor(taskOf([1, 2]), rulesOf([1]));
  sizedFor(taskOf([1, 2]), rulesOf([1, 3]));
  expectMade(1);
  sizedFor(taskOf([1, 2]), rulesOf([1, 2]));
  expectMade(2);
  sizedFor(taskOf([1, 2]), rulesOf([1], 200));
  expectMade(3);
  sizedFor(taskOf([1, 2], kernel, false), rulesOf([1]));
  expectMade(4);
  sizedFor(taskOf([1, 2], kernelOf(9)), rulesOf([1]));
  expectMade(5);
  sizedFor(taskOf([1]), rulesOf([1]));
  expectMade(6);
});

it('gives the sizes of a kernel of the same structure over other buffers', () => {
  const memory = new SweepMemory();
  const sizerOf = (task: SweptTask, rules: SlotRules): Sizer =>
    memory.sizer([task], 'tiles', rules, () => sweepSizer([task], rules));
  const sized = (task: SweptTask, windowed: readonly number[]): SizedSweep => {
    const found = completed(sizerOf(task, rulesOf(windowed))(10_000));
    if ('needed' in found) throw new Error(`${found.needed} needed`);
    return found;
  };
  const first = sized(taskOf([1, 2]), [1]);
  const other = sized(taskOf([3, 2], kernelOf(8)), [3]);
  expect([first, other].map(({ slots }) => slots.map(({ buffer }) => buffer))).toEqual([[1], [3]]);
  expect(other.slots).toEqual(first.slots.map((slot) => ({ ...slot, buffer: 3 })));
  expect([...other.tiles.at(0)!.windows.keys()].sort()).toEqual([2, 3, 9]);
  expect(other.tasks[0]!.task.reads).toEqual([3, 2]);
  expect(sized(taskOf([3, 2], kernelOf(8)), [3])).toBe(other);
  const refused = completed(sizerOf(taskOf([4, 2]), rulesOf([4]))(10));
  expect(refused).toMatchObject({ step: { buffers: [4, 2, 9] } });
});

it('keeps shares by the rows of windows, those of sweeps that cannot be cut among them', () => {
  const memory = new SweepMemory();
  let found = 0;
  const shareOf = (pitch: number | undefined): number | undefined =>
    completed(
      memory.share(
        [taskOf([1])],
        rulesOf([1, 9]),
        new Map(pitch === undefined ? [] : [[1, pitch]]),
        function* () {
          yield* [];
          found++;
          return undefined;
        },
      ),
    );
  for (const pitch of [64, 64, undefined, undefined, 128]) expect(shareOf(pitch)).toBeUndefined();
  expect(found).toBe(3);
});

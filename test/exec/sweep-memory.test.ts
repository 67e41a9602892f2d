/** What planning remembers of sweeps: tasks that differ in nothing that their tiles depend on are sized once. */
import { expect, it } from 'vitest';
import type { KernelStep } from '../../src/exec/plan/plan.js';
import { SweepMemory } from '../../src/exec/tiles/sweep-memory.js';
import type { SlotRules } from '../../src/exec/tiles/sweep-slots.js';
import type { SweptTask } from '../../src/exec/tiles/sweep-windows.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { completed } from '../../src/host/slices.js';

const kernel = {} as Kernel;
const taskOf = (reads: readonly number[], own: Kernel = kernel, isKept = true): SweptTask => {
  const step = { kind: 'kernel', kernel: own, buffers: [...reads, 9], scratch: [] } as unknown as KernelStep;
  const cut = { units: 1 } as SweptTask['task']['cut'];
  return { task: { step, reads, writes: [9], cut, repeats: true }, isKept };
};
const rulesOf = (windowed: readonly number[], bytes = 100): SlotRules =>
  ({
    isWindowed: (buffer: number) => windowed.includes(buffer),
    byteLengthOf: () => bytes,
    directionOf: () => 'in',
    pitches: new Map(),
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
  sizedFor(taskOf([1, 2], {} as Kernel), rulesOf([1]));
  expectMade(5);
  sizedFor(taskOf([1, 3]), rulesOf([1]));
  expectMade(6);
});

it('keeps shares by the rows of windows, those of sweeps that cannot be cut among them', () => {
  const memory = new SweepMemory();
  let found = 0;
  const shareOf = (pitch: number | undefined): number | undefined =>
    completed(
      memory.share(
        [taskOf([1])],
        () => true,
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

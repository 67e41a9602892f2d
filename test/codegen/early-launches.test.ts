/** Launches that may begin while the one before them ends wait for it: before anything that it may have written. */
import { describe, expect, it } from 'vitest';
import type { RoutineStep } from '../../src/exec/calls/call.js';
import type { CallKernels } from '../../src/exec/calls/call-row.js';
import { SCAN } from '../../src/exec/calls/scan.js';
import { RANKS } from '../../src/exec/calls/select.js';
import { TOP } from '../../src/exec/calls/top.js';

const LIMITS = [
  { sharedByteLength: 163 * 1024 },
  { sharedByteLength: 227 * 1024, hasWarpgroups: true, hasBulkCopies: true },
];

function stepOf(
  call: string,
  parameters: readonly number[],
  shapes: readonly (readonly number[])[],
): RoutineStep {
  const [operand, ...results] = shapes.map((shape, buffer) => ({ dtype: 'float32' as const, shape, buffer }));
  const arrays = { operands: [operand!], results };
  return { kind: 'call', call, parameters, ...arrays, workspace: 9, nodes: [] } as RoutineStep;
}

const [LINE, COLUMNS] = [
  [1, 2 ** 24, 1],
  [1, 2 ** 14, 2048],
];
const CASES: readonly (readonly [string, (limits: (typeof LIMITS)[0]) => CallKernels])[] = [
  ['a scan of a line', (limits) => SCAN.kernels!(stepOf('scan', [0, 0], [LINE, LINE]), limits)!],
  ['a scan of columns', (limits) => SCAN.kernels!(stepOf('scan', [0, 0], [COLUMNS, COLUMNS]), limits)!],
  [
    'a short scan',
    (limits) =>
      SCAN.kernels!(
        stepOf(
          'scan',
          [0, 1],
          [
            [3, 9000, 1],
            [3, 9000, 1],
          ],
        ),
        limits,
      )!,
  ],
  [
    'the first of a row',
    (limits) =>
      TOP.kernels!(
        stepOf(
          'top',
          [1, 100],
          [
            [1, 2 ** 24],
            [1, 100],
            [1, 100],
          ],
        ),
        limits,
      )!,
  ],
  [
    'the first of short rows',
    (limits) =>
      TOP.kernels!(
        stepOf(
          'top',
          [1, 9],
          [
            [7, 900],
            [7, 9],
            [7, 9],
          ],
        ),
        limits,
      )!,
  ],
  [
    'elements at ranks',
    (limits) =>
      RANKS.kernels!(
        stepOf(
          'ranks',
          [5],
          [
            [2, 2 ** 20],
            [2, 1],
          ],
        ),
        limits,
      )!,
  ],
  [
    'elements at ranks of a long row',
    (limits) =>
      RANKS.kernels!(
        stepOf(
          'ranks',
          [5],
          [
            [1, 2 ** 26],
            [1, 1],
          ],
        ),
        limits,
      )!,
  ],
];

/** The text of a function, from its name to the next kernel. */
function bodyOf(source: string, name: string): string {
  const begin = source.search(new RegExp(`^${name}\\(|void ${name}\\(`, 'm'));
  expect(begin).toBeGreaterThan(0);
  return source.slice(begin).split('extern "C" __global__')[0]!;
}

describe.each(CASES)('%s', (_, kernelsOf) => {
  it.each(LIMITS)('has launches that wait, after one that does not begin early', (limits) => {
    const { source, launches } = kernelsOf(limits);
    expect(launches[0]!.isEarly ?? false).toBe(false);
    const early = launches.filter(({ isEarly }) => isEarly === true);
    expect(early.length).toBeGreaterThan(0);
    for (const { function: name } of early) {
      const body = bodyOf(source, name);
      const [before, after] = body.split('weft_await();');
      expect(after, name).toBeDefined();
      // The states, counts and words that a launch before may have written are looked at behind the wait.
      expect(before).not.toMatch(/weft_begin\(|counters->|heard->|atomicAdd|bests\[/);
    }
  });
});

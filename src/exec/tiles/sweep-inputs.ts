/**
 * Inputs that several sweeps of a plan bring to the device in windows, each anew: where there is room, they are
 * copied once and stay whole. Called by `sweep-attempt.ts`.
 *
 *     sweep 1 reads x, 64 MiB; sweep 2 reads x   →   x copied before sweep 1: 64 MiB less
 */
import type { DeviceModel } from '../plan/device-model.js';
import { type DevicePlan, sweepsOf } from '../plan/plan.js';
import type { UnplacedBuffer } from '../plan/step-list.js';

/**
 * The inputs of a job that fit into a budget whole, smallest first. `buffers`: the plan's, where a buffer of the job
 * may stand more than once.
 */
export function inputsToKeep(
  { steps }: DevicePlan,
  buffers: readonly UnplacedBuffer[],
  { heldBytes }: Pick<DeviceModel, 'heldBytes'>,
  budget: number,
): readonly UnplacedBuffer[] {
  let room = budget;
  return readAgain(steps, buffers)
    .toSorted((a, b) => heldBytes(a) - heldBytes(b))
    .filter((buffer) => {
      room -= heldBytes(buffer);
      return room > 0;
    });
}

/** Inputs of which several sweeps, or one of a loop's body, have windows. */
function readAgain(steps: DevicePlan['steps'], buffers: readonly UnplacedBuffer[]): UnplacedBuffer[] {
  const times = new Map<UnplacedBuffer, number>();
  for (const step of steps)
    for (const { windows } of sweepsOf(step)) {
      const read = windows.flatMap(({ buffer, direction }) =>
        direction === 'in' && buffers[buffer]!.role === 'input' ? [buffers[buffer]!] : [],
      );
      for (const input of new Set(read))
        times.set(input, (times.get(input) ?? 0) + (step.kind === 'loop' ? 2 : 1));
    }
  return [...times].flatMap(([input, count]) => (count > 1 ? [input] : []));
}

/**
 * Leftovers on the simulated devices: memory and objects beside those that the runtime says that it keeps.
 * For the tests on the simulator, after each of them (`setup.ts`), and for processes of their own that use it
 * (`test/guest`).
 */
import { setTimeout } from 'node:timers/promises';
import { describeSimulator } from './simulator.js';

/** Bytes in use on each device. */
export const bytesInUse = (): number[] => describeSimulator().devices.map((device) => device.inUse);

/** Memory in use on devices beyond what was before; lost ones aside. */
export function leftInUse(before: readonly number[]): string[] {
  return describeSimulator().devices.flatMap(({ lost, inUse: now }, ordinal) => {
    const bytes = now - (before[ordinal] ?? 0);
    return lost || bytes <= 0 ? [] : [`cuda:${ordinal}: ${bytes} bytes`];
  });
}

/** Streams, events, modules, pinned memory and the like that the runtime does not keep. */
export async function leftBehind(): Promise<string[]> {
  const { devices, live } = describeSimulator();
  const opened = devices.flatMap(({ live: own, lost }, ordinal) =>
    !lost && Object.values(own).some((count) => count > 0) ? [ordinal] : [],
  );
  const left = ['nvrtcPrograms', 'cublasLtDescriptors', 'cutensorDescriptors'].flatMap((name) =>
    live[name] ? [`${live[name]} ${name}`] : [],
  );
  if (opened.length === 0 && live.pinnedBytes === 0) return left;
  // Not before: tests choose the environment that it reads.
  const { keptObjects, memory } = await import('../../src/exec/native/native.js');
  const pinned = memory().reduce((sum, { staging }) => sum + staging, 0);
  if (live.pinnedBytes !== pinned) left.push(`${live.pinnedBytes} pinned bytes, ${pinned} kept`);
  for (const ordinal of opened) {
    const kept = await keptObjects(`cuda:${ordinal}`);
    for (const [name, count] of Object.entries(kept)) {
      const exist = devices[ordinal]!.live[name];
      if (exist !== count) left.push(`cuda:${ordinal}: ${exist} ${name}, ${count} kept`);
    }
  }
  return left;
}

/** The same once the device's threads had time to give back what the last run had. */
export async function leftInTheEnd(): Promise<string[]> {
  for (let wait = 0; wait < 200 && (await leftBehind()).length > 0; wait++) await setTimeout(10);
  return leftBehind();
}

/**
 * The limit of the process: the most memory of a device that Weft holds in it, all arrays, runs and pools
 * together. The pools keep to it (`native/runtime/memory-limit.h`): here is what becomes of a compute that
 * they refuse.
 *
 * Computes begin together. One that is refused waits until those on its devices have ended, and then runs
 * alone, before all that come later; so do they, until nobody waits. A compute that another one's reader asks
 * for waits for nobody: that one would wait for it. Called by `run-in-budget.ts` and
 * `execution.ts`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { formatBytes } from '../../graph/format.js';
import { MemoryError } from '../../host/errors.js';
import { memory, memoryLimit } from '../native/native.js';
import type { Device } from '../targets/device.js';
import { totalBytesOf } from './budgets.js';

/** The most bytes of a device that the process may hold; `undefined`: there is no limit. */
export function processLimitOf(device: Device): number | undefined {
  const limit = memoryLimit(device.name, totalBytesOf(device));
  return Number.isFinite(limit) ? limit : undefined;
}

/** Memory that the limit leaves of a device for a compute. */
export const roomWithin = (limit: number, device: Device): number => Math.max(0, limit - inUseOn(device));

const inUseOn = ({ name }: Device): number => memory().find(({ device }) => device === name)?.inUse ?? 0;

/** A MemoryError that names the limits that have to do with it. */
export function withLimits(error: unknown, devices: readonly Device[]): unknown {
  if (!(error instanceof MemoryError) || error.message.includes('for this process')) return error;
  for (const device of devices) {
    const limit = processLimitOf(device);
    if (limit === undefined) continue;
    const used = formatBytes(inUseOn(device));
    error.message += `\n    within the limit of ${formatBytes(limit)} of '${device.name}' for this process, of which ${used} are in use`;
  }
  return error;
}

const byName = (a: Device, b: Device): number => (a.name < b.name ? -1 : 1);

/** The computes on one device. */
class Turns {
  readonly #underWay = new Set<Promise<unknown>>();
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  together<T>(run: () => Promise<T>): Promise<T> {
    if (this.#waiting > 0) return this.alone(run);
    const running = run();
    const leave = (): void => {
      this.#underWay.delete(ended);
    };
    const ended: Promise<void> = running.then(leave, leave);
    this.#underWay.add(ended);
    return running;
  }

  alone<T>(run: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const turn = this.#last.then(async () => {
      await Promise.all(this.#underWay);
      return run();
    });
    const ended = (): void => {
      this.#waiting--;
    };
    this.#last = turn.then(ended, ended);
    return turn;
  }
}

const turns = new Map<Device, Turns>();

function turnsOf(device: Device): Turns {
  const known = turns.get(device) ?? new Turns();
  turns.set(device, known);
  return known;
}

/** The devices on which the compute that runs has its turn; also in the readers that it calls. */
const held = new AsyncLocalStorage<ReadonlySet<Device>>();

/**
 * Runs beside others on each of the devices, or alone. Devices are taken in one order, so that nobody waits
 * in a circle.
 */
function inTurn<T>(devices: readonly Device[], how: 'together' | 'alone', run: () => Promise<T>): Promise<T> {
  const before = held.getStore() ?? new Set();
  const wanted = devices.filter((device) => !before.has(device)).sort(byName);
  const all = new Set([...before, ...wanted]);
  const from = (k: number): Promise<T> =>
    k === wanted.length ? held.run(all, run) : turnsOf(wanted[k]!)[how](() => from(k + 1));
  return from(0);
}

/**
 * Runs a compute on devices of which one has a limit; once more, alone, where there was no room for it beside
 * others. `again` is what is then run, with the memory that is left.
 */
export async function runLimited<T>(
  devices: readonly Device[],
  run: () => Promise<T>,
  again: (error: MemoryError) => Promise<T>,
): Promise<T> {
  try {
    return await inTurn(devices, 'together', run);
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    try {
      return await inTurn(devices, 'alone', () => again(error));
    } catch (refused) {
      throw withLimits(refused, devices);
    }
  }
}

/**
 * The devices of a batch, each with room for some jobs at a time: a job gets the one that has most room.
 * Called by `batch.ts`.
 */
import { DeviceLostError } from '../host/errors.js';

interface Waiting {
  readonly got: (device: string) => void;
  readonly failed: (error: unknown) => void;
}

export class JobPool {
  /** Jobs that run, by device. */
  readonly #running: Map<string, number>;
  readonly #counts: Map<string, number>;
  readonly #most: number;
  readonly #waiting: Waiting[] = [];

  /** `most`: jobs on a device at a time. */
  constructor(devices: readonly string[], most: number) {
    this.#running = new Map(devices.map((device) => [device, 0]));
    this.#counts = new Map(devices.map((device) => [device, 0]));
    this.#most = most;
  }

  /** Jobs that can run at a time. */
  get slots(): number {
    return this.#running.size * this.#most;
  }

  /** A device with room, once there is one. Rejects with the signal's reason when aborted. */
  take(signal: AbortSignal): Promise<string> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#running.size === 0) return Promise.reject(noneLeft());
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        const at = this.#waiting.indexOf(entry);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal.reason);
      };
      const entry: Waiting = {
        got: (device) => {
          signal.removeEventListener('abort', abort);
          resolve(device);
        },
        failed: (error) => {
          signal.removeEventListener('abort', abort);
          reject(error);
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.push(entry);
      this.#serve();
    });
  }

  /** A job on the device ended. */
  give(device: string): void {
    const running = this.#running.get(device);
    if (running !== undefined) this.#running.set(device, running - 1);
    this.#serve();
  }

  /** A job on the device succeeded. */
  count(device: string): void {
    this.#counts.set(device, this.#counts.get(device)! + 1);
  }

  /** Uses a device no more; gives how many are left. */
  without(device: string): number {
    this.#running.delete(device);
    if (this.#running.size === 0) for (const { failed } of this.#waiting.splice(0)) failed(noneLeft());
    return this.#running.size;
  }

  counts(): { readonly device: string; readonly jobs: number }[] {
    return [...this.#counts].map(([device, jobs]) => ({ device, jobs }));
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const [best] = [...this.#running].sort(([, a], [, b]) => a - b);
      if (best === undefined || best[1] >= this.#most) return;
      this.#running.set(best[0], best[1] + 1);
      this.#waiting.shift()!.got(best[0]);
    }
  }
}

const noneLeft = (): DeviceLostError =>
  new DeviceLostError('[batch] expected a device that was not lost: none is left');

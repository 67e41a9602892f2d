/**
 * Notices devices that do not get on: a run that finishes no tile for longer than the deadline is given up, with an error that
 * names its device, and later computes there are refused until it comes back. Called by `dealt-run.ts` and `devices.ts`.
 */
import { DeviceLostError } from '../errors.js';

export interface Watched {
  readonly device: string;
  /** A number that grows while the device gets on. */
  readonly progress: () => number;
}

export interface StallWatch {
  /** The k-th run, or the rejection with a DeviceLostError once it is given up. */
  guard<T>(k: number, running: Promise<T>): Promise<T>;
  end(): void;
}

/** Looks this many times before a deadline. */
const LOOKS = 8;
const MOST_PERIOD_MS = 5000;

/** Devices that were given up and have not come back. */
const stalled = new Set<string>();

/** Why a device is not to be used, if it is not. */
export const stallOf = (device: string): string | undefined =>
  stalled.has(device) ? 'it did not answer within a deadline, and has not come back since' : undefined;

/** Watches runs that begin now; `deadline` in milliseconds. */
export function watchStalls(watched: readonly Watched[], deadline: number): StallWatch {
  const runs = watched.map(({ progress }) => ({ seen: progress(), since: performance.now(), ended: false }));
  const giveUps: ((error: Error) => void)[] = [];
  const look = (): void => {
    const now = performance.now();
    for (const [k, state] of runs.entries()) {
      if (state.ended) continue;
      const seen = watched[k]!.progress();
      if (seen !== state.seen) {
        state.seen = seen;
        state.since = now;
      } else if (now - state.since >= deadline) {
        state.ended = true;
        const { device } = watched[k]!;
        stalled.add(device);
        const message = `[${device}] expected the device to finish a tile within ${deadline} ms: it has not`;
        giveUps[k]!(new DeviceLostError(message, undefined, device));
      }
    }
  };
  const timer = setInterval(look, Math.min(MOST_PERIOD_MS, Math.max(1, deadline / LOOKS)));
  return {
    guard: (k, running) => {
      const ended = (): void => {
        runs[k]!.ended = true;
        stalled.delete(watched[k]!.device);
      };
      const given = new Promise<never>((_, reject) => {
        giveUps[k] = reject;
      });
      given.catch(() => undefined); // it may be given up when nobody waits any more
      running.then(ended, ended);
      return Promise.race([running, given]);
    },
    end: () => clearInterval(timer),
  };
}

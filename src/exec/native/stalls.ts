/**
 * Notices devices that do not get on: a run that finishes no tile for longer than the deadline is given up,
 * with an error that names its device, and later computes there are refused until it comes back. Called by
 * `sharded-run.ts` and `devices.ts`.
 */
import { DeviceLostError } from '../../host/errors.js';

export interface Watched {
  readonly device: string;
  /** A number that grows while the device gets on. */
  readonly progress: () => number;
  /** Runs of a later phase wait for those of earlier ones: time counts when they are what is waited for. */
  readonly phase: number;
}

/** A run that has begun, and may give its results before it has ended. */
export interface Watching<T> {
  readonly results: Promise<T>;
  readonly end: Promise<unknown>;
}

export interface StallWatch {
  /** The same, with the rejection with a DeviceLostError once the run is given up. */
  guard<T>(watched: Watched, running: Watching<T>): Watching<T>;
  end(): void;
}

interface Entry extends Watched {
  seen: number;
  since: number;
  readonly giveUp: (error: Error) => void;
}

/** Looks this many times before a deadline. */
const LOOKS = 8;
const MOST_PERIOD_MS = 5000;

/** Devices that were given up and have not come back. */
const stalled = new Set<string>();

/** Why a device is not to be used, if it is not. */
export const stallOf = (device: string): string | undefined =>
  stalled.has(device) ? 'it did not answer within a deadline, and has not come back since' : undefined;

/** Whether some device was given up, so that devices are to be chosen with care. */
export const isSomeStalled = (): boolean => stalled.size > 0;

/**
 * Watchers by the timer of their period. A timer goes on until no watcher was there for a period: making one
 * takes as long as a short run.
 */
const lookers = new Map<number, Set<() => void>>();

function lookersOf(period: number): Set<() => void> {
  const known = lookers.get(period);
  if (known !== undefined) return known;
  const all = new Set<() => void>();
  lookers.set(period, all);
  const timer = setInterval(() => {
    for (const look of all) look();
    if (all.size > 0) return;
    clearInterval(timer);
    lookers.delete(period);
  }, period);
  timer.unref(); // runs under way keep the process
  return all;
}

/** Watches runs as they begin; `deadline` in milliseconds. */
export function watchStalls(deadline: number): StallWatch {
  const open = new Set<Entry>();
  const look = (): void => {
    const now = performance.now();
    const first = Math.min(...[...open].map(({ phase }) => phase));
    for (const entry of [...open]) {
      const seen = entry.progress();
      if (seen !== entry.seen || entry.phase > first) {
        entry.seen = seen;
        entry.since = now;
      } else if (now - entry.since >= deadline) {
        open.delete(entry);
        const { device, giveUp } = entry;
        stalled.add(device);
        const message = `[${device}] expected the device to finish a tile within ${deadline} ms: it has not`;
        giveUp(new DeviceLostError(message, undefined, device));
      }
    }
  };
  const others = lookersOf(Math.min(MOST_PERIOD_MS, Math.max(1, deadline / LOOKS)));
  others.add(look);
  return {
    guard: (watched, { results, end }) => {
      let giveUp: Entry['giveUp'] = () => undefined;
      const givenUp = new Promise<never>((_, reject) => {
        giveUp = reject;
      });
      givenUp.catch(() => undefined); // it may be given up when nobody waits any more
      const { device, progress, phase } = watched;
      const entry = { device, progress, phase, seen: progress(), since: performance.now(), giveUp };
      open.add(entry);
      const ended = (): void => {
        open.delete(entry);
        stalled.delete(device);
      };
      end.then(ended, ended);
      return { results: Promise.race([results, givenUp]), end: Promise.race([end, givenUp]) };
    },
    end: () => others.delete(look),
  };
}

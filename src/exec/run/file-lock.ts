/**
 * A lock between processes: a file that only one of them can make, holding who made it.
 *
 * Advisory and best effort: where it cannot be had (a read-only folder, a holder that takes too long) the
 * caller goes on without, as where something else than a regular file has its name. Called by
 * `kernel-cache.ts` so that processes starting cold compile a kernel once.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type RegularFile, readRegularFile } from './regular-file.js';

/** A lock whose content is not written yet is a holder's that was just made, or was killed there. */
const UNWRITTEN_PATIENCE_MS = 2000;
const POLL_MS = 20;

/**
 * The holder of a lock. `start` tells a process from a later one with its pid; null where it cannot be found.
 */
interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly start: string | null;
}

export interface Lock {
  release(): Promise<void>;
}

const textOf = (file: RegularFile): string => file.bytes.toString('utf8');

/**
 * When a process started, in ticks since boot (field 22 of /proc/PID/stat; the name before it may hold
 * spaces).
 */
function startOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is alive.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function parseHolder(text: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const { pid, host, start } = value as Partial<Holder>;
    if (typeof pid !== 'number' || typeof host !== 'string') return undefined;
    return { pid, host, start: start ?? null };
  } catch {
    return undefined;
  }
}

/** Whether the holder cannot finish any more. A process of another host is trusted until `patienceMs`. */
function isStale(text: string, ageMs: number, patienceMs: number): boolean {
  if (ageMs > patienceMs) return true;
  const holder = parseHolder(text);
  if (holder === undefined) return ageMs > UNWRITTEN_PATIENCE_MS;
  if (holder.host !== hostname()) return false;
  if (!isAlive(holder.pid)) return true;
  const start = startOf(holder.pid);
  return start !== null && holder.start !== null && start !== holder.start;
}

async function tryCreate(path: string): Promise<Lock | undefined> {
  const text = JSON.stringify({ pid: process.pid, host: hostname(), start: startOf(process.pid) });
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined;
    throw error;
  }
  return {
    async release() {
      // Only our own: a waiter that lost patience may have taken it over.
      const held = await readRegularFile(path).catch(() => undefined);
      if (held !== undefined && textOf(held) === text) await unlink(path).catch(() => undefined);
    },
  };
}

/** Moves a stale lock out of the way, so that of several processes that found it only one removes it. */
async function breakStale(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  await rename(path, aside);
  const moved = await readRegularFile(aside);
  if (moved !== undefined && textOf(moved) === text) {
    await unlink(aside);
  } else {
    // Between reading and moving, another process made it its own: give it back.
    await rename(aside, path);
  }
}

/** Breaks a stale lock. False: something that is no lock has its name, and may stand there for ever. */
async function breakIfStale(path: string, patienceMs: number): Promise<boolean> {
  const file = await readRegularFile(path);
  if (file === undefined) return false;
  const text = textOf(file);
  if (isStale(text, Date.now() - file.modifiedMs, patienceMs)) await breakStale(path, text);
  return true;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Takes the lock, waiting up to `patienceMs` for another holder. `ready` is asked between tries: once it
 * gives something the wait is over, and that is the result. `undefined`: the lock could not be had.
 */
export async function lockOr<T>(
  path: string,
  patienceMs: number,
  ready: () => Promise<T | undefined>,
): Promise<{ readonly lock: Lock } | { readonly ready: T } | undefined> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      const lock = await tryCreate(path);
      if (lock !== undefined) return { lock };
    } catch {
      return undefined;
    }
    const result = await ready();
    if (result !== undefined) return { ready: result };
    // The file may go away at any moment, which the next try will see.
    const isLock = await breakIfStale(path, patienceMs).catch(() => true);
    if (!isLock || Date.now() > deadline) return undefined;
    await sleep(POLL_MS);
  }
}

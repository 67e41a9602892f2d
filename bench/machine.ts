/**
 * The state of the machine during a CPU benchmark: how much CPU time other processes take, and how fast
 * memory is. Linux only; elsewhere the numbers are left out.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { median, now } from './statistics.js';

const TICKS_PER_SECOND = 100; // USER_HZ, the same on every Linux

/** The CPUs this process may use: `0-1,4` is 0, 1, 4. */
function allowedCpus(): Set<string> {
  const list = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]!;
  const names = new Set<string>();
  for (const part of list.split(',')) {
    const [first, last] = part.split('-').map(Number) as [number, number?];
    for (let cpu = first; cpu <= (last ?? first); cpu++) names.add(`cpu${cpu}`);
  }
  return names;
}

/** Busy seconds of our CPUs, by anyone (the host's theft included), and by this process. */
function busySeconds(): { readonly all: number; readonly own: number } {
  const mine = allowedCpus();
  let ticks = 0;
  for (const line of readFileSync('/proc/stat', 'utf8').split('\n')) {
    const [name, ...fields] = line.split(/\s+/);
    if (!mine.has(name!)) continue;
    const [user, nice, system, , , irq, softirq, steal] = fields.map(Number) as number[];
    ticks += user! + nice! + system! + irq! + softirq! + steal!;
  }
  const { user, system } = process.cpuUsage();
  return { all: ticks / TICKS_PER_SECOND, own: (user + system) / 1e6 };
}

/** Starts a watch: the function it gives says how many CPUs others have used since; undefined off Linux. */
export function watchOthers(): () => number | undefined {
  if (process.platform !== 'linux') return () => undefined;
  const began = now();
  const before = busySeconds();
  return () => {
    const after = busySeconds();
    const others = after.all - before.all - (after.own - before.own);
    return Math.max(0, others / ((now() - began) / 1e3));
  };
}

/** Waits until other processes use less than a tenth of a CPU, but no longer than this. */
export async function waitForQuiet(seconds: number): Promise<void> {
  const end = now() + seconds * 1e3;
  while (now() < end) {
    const others = watchOthers();
    await sleep(500);
    if ((others() ?? 0) < 0.1) return;
  }
}

const COPY_THREADS = 2;
const COPY_BYTES = 64 * 2 ** 20;
const COPY_WORKER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const source = new Uint8Array(workerData).fill(1), target = new Uint8Array(workerData).fill(1);
  parentPort.on('message', () => { target.set(source); parentPort.postMessage(0); });`;

/** The memory probe: two threads that each copy 64 MiB. */
export class MachineCopy {
  readonly #workers: Worker[];

  constructor() {
    this.#workers = Array.from(
      { length: COPY_THREADS },
      () => new Worker(COPY_WORKER, { eval: true, workerData: COPY_BYTES }),
    );
  }

  async #once(): Promise<number> {
    const done = this.#workers.map((worker) => once(worker, 'message'));
    const start = now();
    for (const worker of this.#workers) worker.postMessage(0);
    await Promise.all(done);
    return (2 * COPY_THREADS * COPY_BYTES) / (now() - start) / 1e6;
  }

  /** GB/s, read and written. */
  async rate(): Promise<number> {
    await this.#once(); // the workers have started
    const rates: number[] = [];
    for (let i = 0; i < 5; i++) rates.push(await this.#once());
    return median(rates);
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

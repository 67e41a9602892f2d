/**
 * The cost of the dashboard for calls of microseconds: `node dist/test/guest/watched-calls.js --device cuda`. A compiled
 * function is called without a dashboard, with one, and with a page that is open in another process, by turns. Prints
 * the time of a call of each: its median over stretches of 20 ms, its mean, which has the recordings as well, and the
 * CPU time of all threads.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compile, dashboard, type Lazy, lazy } from '../../src/index.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '5' },
  },
});
const { device } = values;
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
const STRETCH_MS = 20;
const CALLS = 200;

interface Cost {
  /** Microseconds of a call, of each stretch. */
  readonly stretches: number[];
  calls: number;
  milliseconds: number;
  cpuMicroseconds: number;
}
const costs: Record<string, Cost> = {};

const step = compile((x: Lazy) => x.mul(0.5).add(1), { device });
const given = await lazy(new Float32Array(1000)).add(1).persist({ device });
const call = async (): Promise<void> => (await step.persist(given)).dispose();

async function measure(name: string): Promise<void> {
  costs[name] ??= { stretches: [], calls: 0, milliseconds: 0, cpuMicroseconds: 0 };
  const cost = costs[name];
  const cpu = process.cpuUsage();
  const begin = performance.now();
  let [from, calls] = [begin, 0];
  while (from - begin < 1000 * seconds) {
    for (let k = 0; k < CALLS; k++) await call();
    calls += CALLS;
    await setImmediate();
    const now = performance.now();
    if (now - from < STRETCH_MS) continue;
    cost.stretches.push((1000 * (now - from)) / calls);
    cost.calls += calls;
    [from, calls] = [now, 0];
  }
  const { user, system } = process.cpuUsage(cpu);
  cost.milliseconds += from - begin;
  cost.cpuMicroseconds += user + system;
}

/** A page, as far as the program is concerned: a process that reads the events. */
async function openPage(url: string): Promise<ChildProcess> {
  const code = `for await (const _ of (await fetch('${url}events')).body) process.stdout.write('.')`;
  const page = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(page.stdout!, 'data');
  return page;
}

for (let k = 0; k < 100 * CALLS; k++) await call();
for (let round = 0; round < rounds; round++) {
  await measure('without a dashboard');
  await using open = await dashboard();
  await measure('without a page');
  const page = await openPage(open.url);
  await measure('with a page');
  page.kill();
}
for (const [name, { stretches, calls, milliseconds, cpuMicroseconds }] of Object.entries(costs)) {
  const median = stretches.sort((a, b) => a - b)[stretches.length >> 1]!;
  const [mean, cpu] = [(1000 * milliseconds) / calls, cpuMicroseconds / calls];
  console.log(
    `${name.padEnd(20)} ${median.toFixed(2)} µs a call, mean ${mean.toFixed(2)}, CPU ${cpu.toFixed(2)}`,
  );
}

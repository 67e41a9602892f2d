/**
 * The time that the first call of `exp(0.5 sin x + cos y)` takes in a process whose arrays are on the GPU
 * already: planning, code generation, compilation, the kernel. Once with an empty kernel cache, and once with
 * what that call left there. Prints a JSON line.
 *
 * `node dist/bench/first-call.js [--device cuda:0] [--repeats 5]`. Every call is a process of its own, every
 * pair of them has a home folder of its own, since NVRTC keeps what it compiled in one.
 * `bench/peers-first-call.py` does the same with other libraries.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compile, lazy, synchronize } from '../src/index.js';
import { saxpyTrig } from './expressions.js';
import { median, now, toDigits } from './statistics.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    repeats: { type: 'string', default: '5' },
    child: { type: 'boolean', default: false },
  },
});
const { device } = values;
const ELEMENTS = 2 ** 26;

/** Milliseconds of the first call in this process. */
async function firstCall(): Promise<number> {
  const data = new Float32Array(ELEMENTS).fill(0.25);
  const [x, y] = [await lazy(data).persist({ device }), await lazy(data).persist({ device })];
  const expression = compile(saxpyTrig, { device });
  const start = now();
  await expression.persist(x, y);
  await synchronize(device);
  return now() - start;
}

/** The same in a new process. */
function firstCallElsewhere(home: string): number {
  const environment = { ...process.env, HOME: home, XDG_CACHE_HOME: join(home, '.cache') };
  const text = execFileSync(
    process.execPath,
    [fileURLToPath(import.meta.url), '--child', '--device', device],
    { env: environment, encoding: 'utf8' },
  );
  return toDigits(Number(text), 1);
}

if (values.child) {
  console.log(await firstCall());
} else {
  const cold: number[] = [];
  const warm: number[] = [];
  for (let k = 0; k < Number(values.repeats); k++) {
    const home = mkdtempSync(join(tmpdir(), 'weft-first-call-'));
    cold.push(firstCallElsewhere(home));
    warm.push(firstCallElsewhere(home));
    rmSync(home, { recursive: true });
  }
  console.log(
    JSON.stringify({
      workload: 'first_call',
      peer: 'weft',
      cold_ms: median(cold),
      cached_ms: median(warm),
      cold,
      cached: warm,
    }),
  );
}

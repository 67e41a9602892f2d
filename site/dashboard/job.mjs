// A program with a dashboard, on simulated GPUs, that does what it is told on its standard input: `batch`, `large`,
// `cancel` then `abort`, `fail`, `end`. Run by check.mjs.
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

const { SIM_ENVIRONMENT } = await import('../../dist/test/sim/environment.js');
Object.assign(process.env, SIM_ENVIRONMENT, { WEFT_DASHBOARD: process.env.WEFT_DASHBOARD ?? '0' });
const { setDevices, setFaults, setSchedule } = await import('../../dist/test/sim/simulator.js');
const GPUS = ['cuda:0', 'cuda:1', 'cuda:2'];
setDevices(GPUS.map(() => ({ memory: 64 * 2 ** 20 })));
setSchedule({ timing: 'eager', seed: 1 });
const { batch, compile, lazy, linalg, ones, persist } = await import('../../dist/src/index.js');

const ROWS = 4096;
const values = Float32Array.from({ length: ROWS * 1024 }, (_, i) => Math.sin(i));
const table = lazy(values, { shape: [ROWS, 1024] });
/** Every kernel takes so many milliseconds longer. */
const slow = (delayMs) => setFaults(delayMs === 0 ? [] : [{ call: 'run launch', nth: 0, delayMs }]);

async function runBatch() {
  const jobs = Array.from({ length: 24 }, (_, k) => async () => {
    await setTimeout(60 + 15 * (k % 5));
    if (k % 11 === 6) throw new Error(`sensor-${k}.npy holds no samples`);
    const samples = lazy(values.subarray(k * 1000, k * 1000 + 64 * 1024), { shape: [64, 1024] });
    return {
      name: `sensor-${k}`,
      compute: samples
        .sub(samples.mean(1, { keepdims: true }))
        .square()
        .sum(1),
    };
  });
  slow(30);
  for await (const _ of batch(jobs, { devices: GPUS.slice(0, 2) }));
  slow(0);
}

/** Standardises columns, and takes products and ranks of them: several kernels and two calls. */
const large = (signal) => {
  const centred = table.sub(table.mean(0)).div(table.std(0));
  return centred.exp().sum(1).compute({ devices: GPUS, memory: '3MiB', signal });
};

let controller = new AbortController();
const running = [];
const COMMANDS = {
  batch: runBatch,
  async large() {
    slow(40);
    await large();
    slow(0);
  },
  async cancel() {
    controller = new AbortController();
    slow(40);
    await large(controller.signal).catch(() => undefined);
    slow(0);
  },
  async abort() {
    controller.abort();
  },
  async fail() {
    await linalg
      .inv(ones([3, 3], 'float32'))
      .compute({ device: 'cpu' })
      .catch(() => undefined);
  },
  async plan() {
    const x = table.slice([0, 512]);
    const gram = x.matmul(x.transpose()).div(1024);
    const sorted = gram.abs().sum(1).sort();
    await sorted.sub(gram.max(0)).exp().sum().compute({ device: 'cuda:0' });
  },
  async end() {
    lines.close();
    process.stdin.destroy();
  },
};

// Some memory in use, and a function that is called again and again.
const [kept] = await persist([table.slice([0, 2048])], { device: 'cuda:0' });
const step = compile((x) => x.mul(0.5).add(1), { device: 'cpu' });
for (let k = 0; k < 200; k++) await step(values.subarray(0, 4096));
const lines = createInterface({ input: process.stdin });
lines.on('line', (command) => {
  const work = COMMANDS[command]().then(() => console.log(`done ${command}`));
  running.push(work);
});
lines.on('close', () => kept.dispose());
console.log('ready');

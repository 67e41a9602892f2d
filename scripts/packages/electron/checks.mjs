/**
 * The checks of Weft in Electron, whose V8 takes no ArrayBuffer over memory that it did not allocate: results lie in
 * the engine's memory, whatever makes them. Run by `electron.mjs` in a folder in which Weft is installed.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';
import { arange, compile, compute, lazy, loadNpy, memory, saveNpy } from 'weftjs';

const device = 'cpu';
const counting = (count) => arange(count, undefined, undefined, { dtype: 'float32' });
/** Bytes of the runtime's own memory that are in use: those of an ArrayBuffer over it would be. */
const inUse = () => memory().find((each) => each.device === device)?.inUse ?? 0;

async function checkResults() {
  for (const count of [0, 1, 2_000, 1_000_000])
    for (const budget of [{}, { memory: 2 ** 20 }]) {
      const x = counting(count);
      const { sum, next } = await compute({ sum: x.sum(), next: x.add(1) }, { device, ...budget });
      assert.equal(next.data.length, count);
      for (let k = 0; k < count; k++) assert.equal(next.data[k], k + 1);
      assert.ok(Math.abs(sum.item() - (count * (count - 1)) / 2) <= 2 ** -20 * count ** 2);
      assert.equal((await lazy(next).sub(x).sub(1).abs().sum().compute({ device })).item(), 0);
      assert.equal(inUse(), 0, `${count} elements keep memory of the runtime`);
    }
}

async function checkStored() {
  const stored = await counting(500_000).persist({ device });
  const step = compile((x) => x.mul(2), { device });
  assert.equal((await step(stored)).at(-1), 999_998);
  stored.dispose();
  const folder = mkdtempSync(join(tmpdir(), 'weft-electron-'));
  try {
    const path = join(folder, 'x.npy');
    await saveNpy(path, counting(500_000));
    assert.equal((await (await loadNpy(path)).add(1).compute({ device })).at(-1), 500_000);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  assert.equal(inUse(), 0);
}

async function checkErrors() {
  await assert.rejects(
    async () =>
      lazy([1, 2])
        .add(lazy([1, 2, 3]))
        .compute(),
    { name: 'ShapeError' },
  );
  const controller = new AbortController();
  controller.abort();
  await assert.rejects(counting(10).compute({ signal: controller.signal }), { name: 'AbortError' });
}

await checkResults();
await checkStored();
await checkErrors();
if (isMainThread) {
  await new Promise((resolve, reject) => {
    new Worker(fileURLToPath(import.meta.url)).on('error', reject).on('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`the worker thread ended with ${code}`));
    });
  });
  const { electron, node } = process.versions;
  console.log(`all is well in Electron ${electron}, with Node.js ${node}, and in a worker thread of it`);
}

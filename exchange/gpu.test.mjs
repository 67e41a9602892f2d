// PyTorch and CuPy in the process, on a GPU: tensors of DLPack both ways in stream order, with the lines of Python
// that docs/guide/exchange.md shows. Skipped, with the reason, where there is no GPU or Python lacks the library.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { devicePointer, devices, fromDLPack, lazy, takeDLPack, toDLPack } from '../dist/src/index.js';

const device = 'cuda:0';
const PYTHON = process.env.WEFT_PYTHON ?? 'python3';
/** The paths that Python looks for modules in, and the names of its libraries that see a GPU. */
function pythonHere() {
  const text = `
import importlib.util, json, sys
print(json.dumps([[p for p in sys.path if p], [n for n in ('torch', 'cupy') if importlib.util.find_spec(n)]]))`;
  return JSON.parse(execFileSync(PYTHON, ['-c', text], { encoding: 'utf8' }));
}

const hasGpu = (await devices()).some((each) => each.device === device && each.isUsable);
const [paths, libraries] = hasGpu ? pythonHere() : [[], []];
const without = hasGpu ? [] : ['there is no GPU'];

const folder = mkdtempSync(join(tmpdir(), 'weft-exchange-'));
after(() => rmSync(folder, { recursive: true }));
const guide = readFileSync(new URL('../docs/guide/exchange.md', import.meta.url), 'utf8');
const TENSORS = /```python\n([\s\S]*?)```/.exec(guide)[1];

/** Of each library: reading a tensor, its address, the stream that it works in, and arrays of its own. */
const TEXTS = {
  torch: `
import torch
take = lambda address: torch.from_dlpack(Tensor(address, (2, 0)))
pointer = lambda x: x.data_ptr()
strided = lambda: torch.arange(24, device='cuda', dtype=torch.float32).reshape(4, 6)[1:3, 1:4].T
typed = lambda name: torch.tensor([0, 1], device='cuda').to(getattr(torch, name))
def in_stream(address, stream):
    with torch.cuda.stream(torch.cuda.ExternalStream(int(stream))):
        return work(address, int(stream))
def stream():
    held['stream'] = torch.cuda.Stream()
    return str(held['stream'].cuda_stream)
`,
  cupy: `
import cupy
take = lambda address: cupy.from_dlpack(Tensor(address, (2, 0)))
pointer = lambda x: x.data.ptr
strided = lambda: cupy.arange(24, dtype='float32').reshape(4, 6)[1:3, 1:4].T
typed = lambda name: cupy.array([0, 1]).astype(name)
def in_stream(address, stream):
    with cupy.cuda.ExternalStream(int(stream)):
        return work(address, int(stream))
def stream():
    held['stream'] = cupy.cuda.Stream(non_blocking=True)
    return str(held['stream'].ptr)
`,
};
const COMMON = `
held = {}
def work(address, stream=1):
    x = take(address)
    y = x * 2
    for _ in range(100): y = y + 1
    del x
    return give(y, stream=stream)
def address_of(address):
    held['x'] = take(address)
    return [str(pointer(held['x'])), str(held['x'].dtype), list(held['x'].shape)]
def drop():
    held.pop('x', None)
def made(text):
    return give(eval(text))
`;

let python;
async function moduleOf(library) {
  if (python === undefined) {
    python = (await import('node-calls-python')).interpreter;
    for (const path of paths) python.addImportPath(path);
  }
  const file = join(folder, `with_${library}.py`);
  writeFileSync(file, `${TENSORS}${TEXTS[library]}${COMMON}`);
  const module = python.importSync(file);
  return (name, ...args) => python.callSync(module, name, ...args);
}
const values = async (x) => (await x.compute({ device })).toArray();
const tensorOf = async (x, options) => String(takeDLPack(await toDLPack(x, options)));

const LENGTH = 1 << 22;
const ROUNDS = 20;
/** Rounds of work between both, in whose memory something else is written at once; those that were wrong. */
async function wrongRounds(work, options) {
  let wrong = 0;
  for (let k = 0; k < ROUNDS; k++) {
    const x = await lazy(new Float32Array(LENGTH).fill(k)).add(1).persist({ device });
    const tensor = await tensorOf(x, options);
    x.dispose();
    const address = work(tensor);
    const noise = await lazy(new Float32Array(LENGTH).fill(-1e9)).mul(3).persist({ device });
    const y = await fromDLPack(BigInt(address), options);
    const { data } = await y.add(0.5).compute({ device });
    if (data.some((value) => value !== 2 * (k + 1) + 100.5)) wrong++;
    y.dispose();
    noise.dispose();
  }
  return wrong;
}

for (const library of Object.keys(TEXTS)) {
  const lacks = libraries.includes(library) ? [] : [`Python has no ${library}`];
  const skip = [...without, ...lacks][0] ?? false;
  test(`${library}: arrays are read where they lie, and written in stream order`, { skip }, async () => {
    const call = await moduleOf(library);
    const x = await lazy([[1, 2, 3]], { dtype: 'float32' })
      .mul(2)
      .persist({ device });
    const { address } = await devicePointer(x);
    const [own, dtype, shape] = call('address_of', await tensorOf(x));
    assert.deepEqual([own, dtype.replace('torch.', ''), shape], [String(address), 'float32', [1, 3]]);
    call('drop');
    assert.equal(await wrongRounds((tensor) => call('work', tensor)), 0);
  });

  test(`${library}: work in a stream of its own`, {
    skip,
  }, async () => {
    const call = await moduleOf(library);
    const stream = BigInt(call('stream'));
    const work = (tensor) => call('in_stream', tensor, String(stream));
    assert.equal(await wrongRounds(work, { stream }), 0);
  });

  test(`${library}: arrays of its own, of any dtype and strides`, { skip }, async () => {
    const call = await moduleOf(library);
    const strided = await fromDLPack(BigInt(call('made', 'strided()')));
    assert.deepEqual(await values(strided), [
      [7, 13],
      [8, 14],
      [9, 15],
    ]);
    const names = ['float16', 'float64', 'int32', 'int64', 'uint8', 'bool', 'complex64'];
    if (library !== 'cupy') names.push('bfloat16');
    for (const name of names) {
      const one = await fromDLPack(BigInt(call('made', `typed('${name}')`)));
      const wanted = { bool: [false, true], int64: [0n, 1n], complex64: [0, 1].map((re) => ({ re, im: 0 })) };
      assert.deepEqual([one.dtype, await values(one)], [name, wanted[name] ?? [0, 1]]);
    }
  });
}

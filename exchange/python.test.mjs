// NumPy in the process, through CPython that node-calls-python runs: tensors of DLPack both ways, with the lines of
// Python that docs/guide/exchange.md shows. WEFT_PYTHON_PACKAGES: the folder of packages that has NumPy.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { interpreter as python } from 'node-calls-python';
import { devicePointer, fromDLPack, lazy, takeDLPack, toDLPack } from '../dist/src/index.js';

const packages = process.env.WEFT_PYTHON_PACKAGES;
if (packages !== undefined) python.addImportPath(packages);
const guide = readFileSync(new URL('../docs/guide/exchange.md', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'weft-exchange-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'tensors.py');
writeFileSync(
  file,
  `${/```python\n([\s\S]*?)```/.exec(guide)[1]}
held = {}
def show(address):
    held['x'] = x = np.from_dlpack(Tensor(address))
    return [str(x.dtype), list(x.shape), bool(x.flags.writeable), x.tolist(), str(x.ctypes.data)]
def doubled():
    held['x'] *= 2
def drop():
    held.clear()
def made(text):
    return give(eval(text, {'np': np}))
`,
);
const module = python.importSync(file);
const call = (name, ...args) => python.callSync(module, name, ...args);
const device = 'cpu';
const values = async (x) => (await x.compute({ device })).toArray();

test('NumPy reads arrays where they lie: persisted ones, which it may not write, after they were disposed of', async () => {
  const x = await lazy([[1, 2, 3]], { dtype: 'float32' })
    .mul(2)
    .persist({ device });
  const { address } = await devicePointer(x);
  const tensor = takeDLPack(await toDLPack(x));
  x.dispose();
  assert.deepEqual(call('show', String(tensor)), ['float32', [1, 3], false, [[2, 4, 6]], String(address)]);
  call('drop');
});

test('NumPy writes to results', async () => {
  const result = await lazy([1, 2, 3]).compute({ device });
  assert.equal(call('show', String(takeDLPack(await toDLPack(result))))[2], true);
  call('doubled');
  call('drop');
  assert.deepEqual([...result.data], [2, 4, 6]);
});

test('the guide: a function of NumPy between two computes', async () => {
  const x = await lazy([0, 1, 0, -1]).compute({ device });
  const y = await fromDLPack(BigInt(call('spectrum', String(takeDLPack(await toDLPack(x))))));
  assert.deepEqual(await values(y.round()), [0, 2, 0]);
  y.dispose();
});

test('arrays of NumPy are read with any strides and dtypes', async () => {
  for (const [text, dtype, wanted] of [
    [
      'np.arange(6.).reshape(2, 3)',
      'float64',
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
    ],
    [
      'np.arange(6, dtype="int16").reshape(2, 3).T',
      'int16',
      [
        [0, 3],
        [1, 4],
        [2, 5],
      ],
    ],
    [
      'np.arange(24, dtype="int32").reshape(4, 6)[1:3, 1:4]',
      'int32',
      [
        [7, 8, 9],
        [13, 14, 15],
      ],
    ],
    [
      'np.arange(8, dtype="uint8").reshape(2, 4)[::-1, ::2]',
      'uint8',
      [
        [4, 6],
        [0, 2],
      ],
    ],
    [
      'np.broadcast_to(np.arange(2.), (2, 2))',
      'float64',
      [
        [0, 1],
        [0, 1],
      ],
    ],
    [
      'np.lib.stride_tricks.sliding_window_view(np.arange(4.), 3)',
      'float64',
      [
        [0, 1, 2],
        [1, 2, 3],
      ],
    ],
    ['np.array([True, False])', 'bool', [true, false]],
    [
      'np.arange(2) + 1j',
      'complex128',
      [
        { re: 0, im: 1 },
        { re: 1, im: 1 },
      ],
    ],
    ['np.array([1.5, -2], dtype="float16")[::-1]', 'float16', [-2, 1.5]],
    ['np.ones(())', 'float64', 1],
    ['np.zeros((0, 3))', 'float64', []],
  ]) {
    const x = await fromDLPack(BigInt(call('made', text)));
    assert.deepEqual([x.dtype, await values(x)], [dtype, wanted], text);
  }
});

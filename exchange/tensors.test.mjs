// TensorFlow.js, onnxruntime and sharp themselves: tensors and pixels in and out, and in which memory.
import assert from 'node:assert/strict';
import test from 'node:test';
import * as tf from '@tensorflow/tfjs';
import ort from 'onnxruntime-node';
import sharp from 'sharp';
import { fromImage, fromTensor, lazy, toImage, toTensor } from '../dist/src/index.js';

const device = 'cpu';
const values = async (x) => (await x.compute({ device })).toArray();

test('onnxruntime: tensors keep the memory of arrays', async () => {
  const arrays = {
    ...{
      float32: Float32Array,
      float64: Float64Array,
      int8: Int8Array,
      int16: Int16Array,
      int32: Int32Array,
    },
    ...{
      uint8: Uint8Array,
      uint16: Uint16Array,
      uint32: Uint32Array,
      int64: BigInt64Array,
      uint64: BigUint64Array,
    },
  };
  for (const [dtype, Own] of Object.entries(arrays)) {
    const tensor = new ort.Tensor(
      dtype,
      new Own(4).fill(dtype.endsWith('64') && dtype !== 'float64' ? 3n : 3),
      [2, 2],
    );
    const x = await fromTensor(tensor);
    assert.deepEqual([x.dtype, x.shape], [dtype, [2, 2]]);
    assert.equal(x.expr.source.data.buffer, tensor.data.buffer);
    const result = await x.add(1).compute({ device });
    const back = await toTensor(result, ort);
    assert.deepEqual([back.type, back.dims, back.data.buffer === result.data.buffer], [dtype, [2, 2], true]);
    assert.equal(Number(back.data[3]), 4);
  }
});

test('onnxruntime: halves and booleans', async () => {
  const half = await toTensor(lazy([1.5, -2], { dtype: 'float16' }), ort);
  assert.deepEqual([half.type, await values(await fromTensor(half))], ['float16', [1.5, -2]]);
  const flags = await toTensor(lazy([true, false]), ort);
  assert.deepEqual([flags.type, await values(await fromTensor(flags))], ['bool', [true, false]]);
  await assert.rejects(toTensor(lazy([1], { dtype: 'bfloat16' }), ort), /a dtype that onnxruntime has/);
  await assert.rejects(fromTensor(new ort.Tensor('string', ['a'], [1])), /a tensor of bool.*string/);
});

test('TensorFlow.js: tensors of the backend cpu share memory', async () => {
  await tf.setBackend('cpu');
  const result = await lazy(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'float32' },
  )
    .mul(2)
    .compute({ device });
  const tensor = await toTensor(result, tf);
  assert.deepEqual(
    [tensor.dtype, tensor.shape, tensor.dataSync() === result.data],
    ['float32', [2, 2], true],
  );
  const x = await fromTensor(tensor.matMul(tensor));
  assert.deepEqual(await values(x), [
    [28, 40],
    [60, 88],
  ]);
  const complex = await toTensor(
    lazy(
      [
        { re: 1, im: 2 },
        { re: 3, im: 4 },
      ],
      { dtype: 'complex64' },
    ),
    tf,
  );
  assert.deepEqual(
    [complex.dtype, await values(await fromTensor(complex))],
    [
      'complex64',
      [
        { re: 1, im: 2 },
        { re: 3, im: 4 },
      ],
    ],
  );
  for (const [dtype, list] of [
    ['int32', [1, -2]],
    ['bool', [true, false]],
  ])
    assert.deepEqual(await values(await fromTensor(await toTensor(lazy(list, { dtype }), tf))), list);
  await assert.rejects(toTensor(lazy([1, 2]), tf), /a dtype that TensorFlow.js has.*float64/);
  await assert.rejects(fromTensor(tf.tensor(['a'])), /a tensor of bool.*string/);
});

test('sharp: pixels in and out, of bytes and of other depths', async () => {
  const blank = { create: { width: 3, height: 2, channels: 3, background: { r: 255, g: 10, b: 0 } } };
  const image = await sharp(blank).raw().toBuffer({ resolveWithObject: true });
  const x = fromImage(image);
  assert.deepEqual(
    [x.dtype, x.shape, x.expr.source.data.buffer === image.data.buffer],
    ['uint8', [2, 3, 3], true],
  );
  const grey = await x.mean(-1).round().astype('uint8').compute({ device });
  const { data, raw } = await toImage(grey);
  assert.equal(data, grey.data);
  const png = await sharp(data, { raw }).png().toBuffer();
  const { width, height } = await sharp(png).metadata();
  assert.deepEqual([width, height], [3, 2]);
  const back = await sharp(png).raw().toBuffer({ resolveWithObject: true });
  assert.equal(await values(fromImage(back).slice(0, 0, 0)), 88);
  for (const [depth, dtype] of [
    ['float', 'float32'],
    ['ushort', 'uint16'],
    ['double', 'float64'],
  ]) {
    const deep = fromImage(await sharp(blank).raw({ depth }).toBuffer({ resolveWithObject: true }));
    assert.deepEqual([deep.dtype, deep.shape, await values(deep.max())], [dtype, [2, 3, 3], 255]);
  }
  assert.throws(
    () => fromImage({ data: image.data, info: { ...image.info, width: 4 } }),
    /24 values for 2 rows/,
  );
  await assert.rejects(toImage(lazy([[[1, 2, 3, 4, 5]]])), /an image of shape/);
});

/**
 * For every test: buffers and typed arrays of the same bits are equal without a look at each element, which
 * takes the test runner microseconds. Others are compared as ever, element by element.
 */
import { expect } from 'vitest';

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

expect.addEqualityTesters([
  (a, b) =>
    ArrayBuffer.isView(a) &&
    ArrayBuffer.isView(b) &&
    a.constructor === b.constructor &&
    bytesOf(a).equals(bytesOf(b))
      ? true
      : undefined,
]);

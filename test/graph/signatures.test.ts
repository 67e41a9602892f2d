import { expect, test } from 'vitest';
import { DTYPES, type DType } from '../../src/graph/dtype.js';
import { OP_NAMES, opRow } from '../../src/graph/ops.js';
import { signatureOf } from '../../src/graph/signatures.js';

/** Every list of so many dtypes. */
function lists(length: number): DType[][] {
  if (length === 0) return [[]];
  return lists(length - 1).flatMap((list) => DTYPES.map((dtype) => [...list, dtype]));
}

test.each(OP_NAMES)('gives the signature of %s by its row, and the same object the next time', (op) => {
  const { arity, dtype: rule } = opRow(op);
  const all = lists(arity);
  const found = all.map((dtypes) => signatureOf(op, dtypes));
  expect(found).toEqual(all.map(rule));
  expect(all.every((dtypes, k) => signatureOf(op, dtypes) === found[k])).toBe(true);
});

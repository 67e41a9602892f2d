import { sizeOfShape } from '../../src/graph/graph.js';
import { readElement } from '../../src/host/elements.js';
import type { Lazy } from '../../src/index.js';
import { referenceOf } from './api.js';

/** The elements of an array in order, by the reference interpreter. */
export function valuesOf(x: Lazy): unknown[] {
  const { data, shape, dtype } = referenceOf([x])[0]!;
  return Array.from({ length: sizeOfShape(shape) }, (_, k) => readElement(data, dtype, k));
}

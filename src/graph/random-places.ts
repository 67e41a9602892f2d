/**
 * Places of a sample without replacement of few from very many, without an order of all: more are drawn than wanted,
 * and of equal ones the first counts.
 */

import { slice } from './basic-slicing.js';
import { firsts, placesWhere } from './compaction.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { iota, map } from './infer.js';
import { drawn, drawnOnce } from './random.js';
import type { KeyBits } from './random-bits.js';
import { argsort } from './sorting.js';
import { gather } from './view-nodes.js';
import { updatedIn } from './writing.js';

/** Below so many times the sample, all places are put in a random order. */
const FEW = 4;
/** Standard deviations of the number of distinct places that are drawn beyond the sample. */
const DEVIATIONS = 10;

/** Int64 places of `count` of n, each set of them equally likely. */
export function distinctPlaces(op: string, key: KeyBits, n: number, count: number): Expr {
  if (n <= FEW * count) return drawnOnce(key, n, count, undefined);
  // So many draws have `count` distinct places on average.
  const draws = -n * Math.log1p(-count / n);
  const many = Math.ceil(draws + DEVIATIONS * Math.sqrt(draws) + DEVIATIONS);
  const places = drawn(op, key, n, [many], undefined);
  const order = argsort(places, 0);
  const read = (line: Expr, index: Expr): Expr => gather(line, index, 0, 'clip', index.shape);
  const isFirst = firsts(read(places, order));
  // The order is stable: the first of equal places is the one that was drawn first.
  const inOrder = updatedIn(op, 'set', map('less', [iota(many), 0n]), order, 'within', isFirst);
  return read(places, slice(upToBound(placesWhere(inOrder)), [0, count]));
}

/**
 * The places where a line of booleans is true, in order, by kernels alone, which can be cut: the line is packed into
 * words of 32 bits, and each result looks up the word that its element is in by the counts of those before, then the
 * bit there (Vigna, "Broadword implementation of rank/select queries", 2008). Words and counts take three eighths of
 * a byte for each element; places, and the line itself, may pass in windows. `fusion/passes/cut-routines.ts` puts
 * them in the place of the routine `compact`, with the same results, where that does not fit.
 *
 *     1 0 0 1 … | 0 1 …   →   words, counts up to each   →   place k: word j, where counts pass k, and its bit k - before
 */
import { bitCount } from './elementwise.js';
import type { Expr } from './expr.js';
import { cast, constant, iota, map, reduce } from './infer.js';
import { padTo } from './joins.js';
import { positions } from './positions.js';
import { cumulativeSum } from './scans.js';
import { gather } from './view-nodes.js';
import { reshape } from './views.js';

const WORD_BITS = 32;

/** The int64 places, those behind the length the last of the line, and the length: as of `compact`. */
export function packedPlaces(line: Expr): readonly [places: Expr, length: Expr] {
  const size = line.shape[0]!;
  const words = packed(line);
  const ones = cast(bitCount(words), 'int64');
  const upTo = cumulativeSum(ones);
  // Not the last of the counts: a kernel that reads one of them would hold all.
  const length = reduce('sum', ones, [0], 'compact');
  const rank = iota(size);
  const at = positions(upTo, rank, 'right');
  const read = (from: Expr): Expr => gather(from, at, 0, 'clip', [size]);
  const word = read(words);
  const before = map('subtract', [read(upTo), cast(bitCount(word), 'int64')]);
  const bit = selectedBit(word, cast(map('subtract', [rank, before]), 'uint32'));
  const place = map('add', [map('multiply', [at, WORD_BITS]), cast(bit, 'int64')]);
  return [map('where', [map('less', [rank, length]), place, size - 1]), length];
}

/** Element i as bit i mod 32 of the uint32 word i div 32. */
function packed(line: Expr): Expr {
  const count = Math.ceil(line.shape[0]! / WORD_BITS);
  const lanes = reshape(padTo(line, [0], [count * WORD_BITS]), [count, WORD_BITS]);
  const bits = map('bitwiseLeftShift', [constant(1, 'uint32'), cast(iota(WORD_BITS), 'uint32')]);
  return cast(reduce('sum', map('where', [lanes, bits, constant(0, 'uint32')]), [1], 'compact'), 'uint32');
}

/** The position of the one of number `rank` among the ones of a word, halving the bits that it is among. */
function selectedBit(word: Expr, rank: Expr): Expr {
  let [bits, left] = [word, rank];
  let position: Expr = constant(0, 'uint32');
  for (let width = WORD_BITS / 2; width >= 1; width /= 2) {
    const low = map('bitwiseAnd', [bits, constant(2 ** width - 1, 'uint32')]);
    const ones = cast(bitCount(low), 'uint32');
    const isAbove = map('greaterEqual', [left, ones]);
    const by = map('where', [isAbove, constant(width, 'uint32'), constant(0, 'uint32')]);
    left = map('where', [isAbove, map('subtract', [left, ones]), left]);
    bits = map('bitwiseRightShift', [bits, by]);
    position = map('add', [position, by]);
  }
  return position;
}

/**
 * The form of a kernel for attention, and the text that kernels for halves and for float32 have in common: parameters,
 * the rows of a block, the tiles that it passes over, and the map and mask of its scores.
 */
import type { DType } from '../../../graph/dtype.js';
import type { ElementFunction } from './element-function.js';

export const ATTENTION_NAME = 'weft_attention';

export interface AttentionForm {
  readonly dtype: DType;
  /** Elements of a row of Q and K, and of V. */
  readonly inner: number;
  readonly width: number;
  /** Whether a row i of scores ends with column i + `offset`. */
  readonly isCausal: boolean;
  /** Whether arrays lie at strides that are parameters; without it, they are in C order. */
  readonly isPlaced: boolean;
  /** The map of a score, by its batch, row and column (`matrixPlace`); without it, scores are scaled. */
  readonly map?: ElementFunction | undefined;
}

const ARRAYS = ['q', 'k', 'v', 'out'] as const;

/** Batches of Q that are neighbours, then of each array where it begins, and from batches, neighbours and rows to the next. */
const places = ARRAYS.map(
  (name) => `, long long ${name}_at, long long ${name}_outer, long long ${name}_head, long long ${name}_row`,
).join('');

/** Parameters: Q, K, V, the result, rows of Q and of K, blocks of a batch, Q's batches of one of K, places. */
export const attentionHead = ({ map, isPlaced }: AttentionForm, element: string): string =>
  `unsigned int first_x, const ${element}* __restrict__ q, const ${element}* __restrict__ k, const ${element}* __restrict__ v, ${element}* __restrict__ out,
    int m, int n, int batch_blocks, int repeats, int offset, float scale${isPlaced ? `, int heads${places}` : ''}${map?.parameters ?? ''}`;

/** Elements from row to row of an array, in a function that copies its rows. */
export const pitchText = ({ isPlaced }: AttentionForm, width: number): string =>
  isPlaced ? 'pitch' : `${width}`;

/** The last parameter of such a function, and its argument. */
export const pitchParameter = ({ isPlaced }: AttentionForm): string => (isPlaced ? ', long long pitch' : '');
export const pitchArgument = ({ isPlaced }: AttentionForm, name: (typeof ARRAYS)[number]): string =>
  isPlaced ? `, ${name}_row` : '';

/** Elements from row to row of the result. */
export const resultPitch = ({ isPlaced, width }: AttentionForm): string =>
  isPlaced ? 'out_row' : `${width}`;

/** Stores neighbours of the result, `each` of the element e, from `column` on, of which a row may lack some. */
export function storeResult(form: AttentionForm, vector: number, each: string): string {
  const { width } = form;
  const to = `(long long)row * ${resultPitch(form)} + column`;
  if (width % vector !== 0)
    return `#pragma unroll
      for (int e = 0; e < ${vector}; e++)
        if (column + e < ${width}) out[${to} + e] = ${each};
`;
  return `      weft_some result;
#pragma unroll
      for (int e = 0; e < ${vector}; e++) result.v[e] = ${each};
      if (column < ${width}) *(weft_some*)(out + ${to}) = result;
`;
}

/** The rows of the block; pointers to its batch. The last blocks of causal rows have most to do, and begin first. */
export const attentionPlace = (form: AttentionForm, rows: number): string => {
  const { inner, width, isCausal, isPlaced } = form;
  const block = isCausal ? 'gridDim.x - 1 - blockIdx.x' : 'blockIdx.x';
  return `  const unsigned int block = first_x + ${block};
  const long long batch = block / batch_blocks${isPlaced ? ', outer = batch / heads, head = batch - outer * heads' : ', other = batch / repeats'};
  const int first_row = (int)(block - (unsigned int)batch * batch_blocks) * ${rows};
  if (first_row >= m) return;
${
  isPlaced
    ? ARRAYS.map((name) => {
        const head = name === 'k' || name === 'v' ? 'head / repeats' : 'head';
        return `  ${name} += ${name}_at + outer * ${name}_outer + ${head} * ${name}_head;\n`;
      }).join('')
    : `  q += batch * m * ${inner};
  k += other * n * ${inner};
  v += other * n * ${width};
  out += batch * m * ${width};
`
}`;
};

/** How many tiles of columns so many rows have, from a first one: names of the variables. */
export const attentionTiles = (
  { isCausal }: AttentionForm,
  rows: number,
  columns: number,
  { row, tiles } = { row: 'first_row', tiles: 'tiles' },
): string =>
  isCausal
    ? `  const long long ${tiles}_end = (long long)(${row} + ${rows} < m ? ${row} + ${rows} : m) + offset;
  const int ${tiles} = ((${tiles}_end < 0 ? 0 : ${tiles}_end < n ? (int)${tiles}_end : n) + ${columns - 1}) / ${columns};
`
    : `  const int ${tiles} = (n + ${columns - 1}) / ${columns};
`;

/** A loop over the scores of a thread, and where it has one: expressions in the loop's variables. */
export interface ScorePlaces {
  readonly loop: string;
  readonly row: string;
  readonly column: string;
  readonly score: string;
}

/** A loop over scores, each of which it makes what an expression of its place gives. */
const eachScore = ({ loop, row, column, score }: ScorePlaces, value: string): string => `${loop} {
            const int row = ${row}, column = ${column};
            ${score} = ${value};
          }
`;

/** A score's map of its value; rows beyond the last have that one's. */
const mapped = (map: ElementFunction, score: string): string =>
  map.call('batch, row < m ? row : m - 1, column', score);

/** Maps scores, and makes those that no row has -infinity. */
export function scoreText({ isCausal, map }: AttentionForm, columns: number, places: ScorePlaces): string {
  const { score } = places;
  const causal = isCausal ? ` || first_column + ${columns - 1} > first_row + offset` : '';
  const isBeyond = isCausal ? 'column >= n || column > row + (long long)offset' : 'column >= n';
  const body = (value: string): string => eachScore(places, `${isBeyond} ? -weft_infinity() : ${value}`);
  if (map === undefined)
    return `    if (first_column + ${columns} > n${causal}) {
${body(score)}    }
`;
  return `    {
${body(mapped(map, score))}    }
`;
}

/** Maps the scores of a tile that every row has as a whole. */
export const wholeScoreText = ({ map }: AttentionForm, places: ScorePlaces): string =>
  map === undefined ? '' : eachScore(places, mapped(map, places.score));

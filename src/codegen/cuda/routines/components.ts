/**
 * CUDA C of connected components by union-find in three passes: each element is its own parent, neighbours are joined
 * by the minimum of their roots, and every element looks up its root (D. P. Playne and K. Hawick, "A new algorithm for
 * parallel connected-component labelling on GPUs", IEEE Transactions on Parallel and Distributed Systems 29, 2018). The
 * root is the least place of a component whatever the order of joins. Launches are made by `exec/calls/components.ts`.
 */

export interface ComponentForm {
  readonly ndim: number;
  /** Offsets of the neighbours before an element in C order, -1, 0 or 1 along each axis. */
  readonly neighbours: readonly (readonly number[])[];
  readonly indexBytes: 4 | 8;
}

export const PARENTS_NAME = 'weft_parents';
export const JOIN_NAME = 'weft_join';
export const FLATTEN_NAME = 'weft_flatten';
export const COMPONENT_THREADS = 256;

const HEAD = `extern "C" __global__ void __launch_bounds__(${COMPONENT_THREADS})`;
const PLACE = `const long long i = ((long long)first_block + blockIdx.x) * ${COMPONENT_THREADS} + threadIdx.x;
  if (i >= size) return;`;

/** The coordinates of a place, and strides. */
function printCoordinates(ndim: number): string {
  const lines = ['long long rest = i;', `const long long t${ndim - 1} = 1;`];
  for (let axis = ndim - 1; axis > 0; axis--) {
    lines.push(`const long long c${axis} = rest % s${axis};`, `rest /= s${axis};`);
    lines.push(`const long long t${axis - 1} = t${axis} * s${axis};`);
  }
  lines.push('const long long c0 = rest;');
  return lines.map((line) => `  ${line}\n`).join('');
}

/** Joins a place with a neighbour, where there is one. */
function printNeighbour(offsets: readonly number[]): string {
  const tests = offsets.flatMap((by, axis) =>
    by === 0 ? [] : [by < 0 ? `c${axis} > 0` : `c${axis} + 1 < s${axis}`],
  );
  const moves = offsets.flatMap((by, axis) => (by === 0 ? [] : [`${by < 0 ? '-' : '+'} t${axis}`]));
  return `  if (${tests.join(' && ')}) weft_unite(parents, (weft_place)i, (weft_place)(i ${moves.join(' ')}));\n`;
}

export function printComponents({ ndim, neighbours, indexBytes }: ComponentForm): string {
  const sizes = Array.from({ length: ndim }, (_, axis) => `long long s${axis}`).join(', ');
  return `typedef ${indexBytes === 4 ? 'int' : 'long long'} weft_place;

/* A parent as it is by now: it only becomes less. */
__device__ __forceinline__ weft_place weft_parent(const weft_place* parents, weft_place i) {
  return *(const volatile weft_place*)(parents + i);
}

__device__ __forceinline__ weft_place weft_root(const weft_place* parents, weft_place i) {
  for (weft_place next = weft_parent(parents, i); next != i; next = weft_parent(parents, i)) i = next;
  return i;
}

__device__ __forceinline__ void weft_unite(weft_place* parents, weft_place a, weft_place b) {
  if (weft_parent(parents, b) < 0) return;
  for (;;) {
    a = weft_root(parents, a);
    b = weft_root(parents, b);
    if (a == b) return;
    if (a < b) {
      const weft_place least = a;
      a = b;
      b = least;
    }
    const weft_place before = atomicMin(parents + a, b);
    if (before == a) return;
    a = before;
  }
}

${HEAD}
${PARENTS_NAME}(unsigned int first_block, const unsigned char* mask, weft_place* parents, long long size) {
  ${PLACE}
  parents[i] = mask[i] ? (weft_place)i : (weft_place)-1;
}

${HEAD}
${JOIN_NAME}(unsigned int first_block, weft_place* parents, long long size, ${sizes}) {
  ${PLACE}
  if (weft_parent(parents, (weft_place)i) < 0) return;
${printCoordinates(ndim)}${neighbours.map(printNeighbour).join('')}}

${HEAD}
${FLATTEN_NAME}(unsigned int first_block, const weft_place* parents, weft_place* roots, long long size) {
  ${PLACE}
  weft_place at = parents[i];
  while (at >= 0 && parents[at] != at) at = parents[at];
  roots[i] = at;
}
`;
}

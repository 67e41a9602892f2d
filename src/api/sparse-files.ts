/**
 * Sparse matrices in files as SciPy's `save_npz` writes them: an archive of their arrays, their shape and the name of
 * their format (scipy/sparse/_matrix_io.py). Elements are read when a graph runs; the shape,
 * the format and the number of elements are read here.
 */
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { refuseMore } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { isExact } from '../graph/sparse.js';
import { ArgumentError, expected } from '../host/errors.js';
import { calledAsync, calledAt } from '../host/site.js';
import { type DataFile, eachPath, type FilePath, pathOf, withFile } from '../io/data-file.js';
import { npzExprs } from '../io/npz.js';
import { npzWithTexts } from '../io/sinks.js';
import { compute } from './compute.js';
import { exprOf, Lazy } from './lazy.js';
import { compressed, coo } from './sparse-construction.js';
import { SparseMatrix } from './sparse-matrix.js';

const FORMATS = {
  csr: ['data', 'indices', 'indptr'],
  csc: ['data', 'indices', 'indptr'],
  coo: ['data', 'row', 'col'],
} as const;
type Format = keyof typeof FORMATS;

/**
 * The matrix of a file that SciPy's `save_npz` or `sparse.saveNpz` wrote, of the formats csr, csc and coo, compressed or
 * not. Rejects with a FileError for a file that is none, or of another format.
 *
 * @example
 * await sparse.saveNpz('a.npz', sparse.eye(2, 3))
 * const a = await sparse.loadNpz('a.npz')
 * a.shape
 * //=> [ 2, 3 ]
 */
export async function loadNpz(path: FilePath, ...more: readonly unknown[]): Promise<SparseMatrix> {
  return await calledAsync(loadNpz, async (site) => {
    const op = 'sparse.loadNpz';
    refuseMore(op, 1, [path, ...more], eachPath(op));
    const { format, arrays, shape, stored } = await withFile(op, pathOf(op, path), read);
    return calledAt(site, () => {
      const lines = Object.fromEntries(arrays.map(([name, make]) => [name, new Lazy(make())])) as never;
      return format === 'coo' ? coo(lines, shape) : compressed(op, format, lines, shape, stored);
    });
  });
}

type Maker = () => Expr;

async function read(file: DataFile): Promise<{
  readonly format: Format;
  readonly arrays: readonly (readonly [string, Maker])[];
  readonly shape: [number, number];
  readonly stored: number | undefined;
}> {
  const members = await npzExprs(file, undefined, true);
  const memberOf = (name: string): Maker =>
    members.get(name) ?? file.refuse(`the member ${name} of a sparse matrix`, [...members.keys()].join(', '));
  const numbersOf = async (name: string): Promise<readonly number[]> => {
    const x = memberOf(name)();
    if (x.shape.length > 1 || (x.shape[0] ?? 1) > 16)
      file.refuse(`a short line as ${name}`, formatShape(x.shape));
    return await valuesOf(new Lazy(x).reshape([-1]));
  };
  const format = String.fromCharCode(...(await numbersOf('format')));
  if (!Object.hasOwn(FORMATS, format)) {
    const hint = 'convert it by tocsr() in SciPy';
    return file.refuse(`a matrix of format ${Object.keys(FORMATS).join(', ')}`, format, hint);
  }
  const own = format as Format;
  const shape = await numbersOf('shape');
  if (shape.length !== 2) file.refuse('a shape of two sizes', shape.join(', '));
  const arrays = FORMATS[own].map((name) => [name, memberOf(name)] as const);
  const stored = own === 'coo' ? undefined : await storedIn(file, memberOf('data')(), memberOf('indptr')());
  return { format: own, arrays, shape: [...shape] as [number, number], stored };
}

async function valuesOf(line: Lazy): Promise<readonly number[]> {
  const [value] = await compute([line]);
  return Array.from(value.data as globalThis.ArrayLike<number | bigint>, Number);
}

/** How many elements the rows of a file have together: the last start. */
async function storedIn(file: DataFile, data: Expr, indptr: Expr): Promise<number> {
  if (indptr.shape.length !== 1 || indptr.shape[0] === 0)
    return file.refuse('a line as indptr', formatShape(indptr.shape));
  const [stored] = (await valuesOf(new Lazy(indptr).slice([-1, null]))) as [number];
  const bound = data.shape[0] ?? 0;
  if (stored >= 0 && stored <= bound) return stored;
  return file.refuse(`indptr to end with at most ${bound}, the number of elements`, `${stored}`);
}

/**
 * Computes a matrix into a file as SciPy's `save_npz` writes it, uncompressed, and gives the matrix of that file. One
 * whose number of stored elements depends on data is computed on the device first, as by `persist`. Rejects with a
 * FileError for a file that cannot be written, with a DTypeError for a dtype that NumPy does not have.
 *
 * @example
 * const a = await sparse.saveNpz('a.npz', sparse.diags([[1, 2, 3]]))
 * await a.sum().compute()
 * //=> 6.0
 */
export async function saveNpz(
  path: FilePath,
  matrix: SparseMatrix,
  options?: ComputeOptions,
  ...more: readonly unknown[]
): Promise<SparseMatrix> {
  return await calledAsync(saveNpz, async () => {
    const op = 'sparse.saveNpz';
    refuseMore(op, 3, [path, matrix, options, ...more]);
    if (!(matrix instanceof SparseMatrix))
      throw new ArgumentError(expected(op, 'a sparse matrix', formatValue(matrix), 'sparse.fromDense(x)'));
    const to = npzWithTexts(pathOf(op, path), NAMES, ['format']);
    const known = isExact(matrix.parts) ? matrix : await matrix.persist(options);
    const { places, starts, values } = known.parts;
    const text = new Lazy(exprOf(op, Uint8Array.from(Buffer.from('csr'))));
    const shape = new Lazy(exprOf(op, BigInt64Array.from(matrix.shape, BigInt)));
    const lines = [places, starts, values].map((each) => new Lazy(each));
    const saved = await compute([...lines, text, shape], { ...options, to });
    const [indices, indptr, data] = saved as unknown as [Lazy, Lazy, Lazy];
    return new SparseMatrix({
      ...known.parts,
      places: indices.expr,
      starts: indptr.expr,
      values: data.expr,
    });
  });
}

const NAMES = ['indices', 'indptr', 'data', 'format', 'shape'];

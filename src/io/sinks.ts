/**
 * Files as places for results: `x.compute({ to: npy('x.npy') })`. A sink is a path and a function that lays
 * out a file for the arrays it is given; `output-file.ts` writes it, `store.ts` brings both together.
 *
 * An array that a format cannot hold is refused before anything is computed.
 */
import { checkOptions, oneOf, refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { Shape } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { called } from '../host/site.js';
import { type FilePath, pathOf } from './data-file.js';
import { crc32 } from './decoding/crc32.js';
import { type ArrayLayout, type ByteOrder, bytesOf, HOST_BYTE_ORDER, type Order } from './layout.js';
import { npyDescr, npyHeader, textDescr } from './npy.js';
import type { FolderLayout } from './output-folder.js';
import { safetensorsHeader, safetensorsName } from './safetensors.js';
import { zarrLayout } from './zarr-layout.js';
import { type FileHeader, layoutZip } from './zip-layout.js';

export interface ArrayType {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** A file before its elements are there. */
export interface FileLayout {
  /** Where each array's elements go, in the order of the arrays. */
  readonly arrays: readonly ArrayLayout[];
  readonly byteLength: number;
  /** Headers that are known beforehand. */
  readonly headers: readonly FileHeader[];
  /**
   * Where checksums are wanted: the CRC-32 of what comes before each array's elements and belongs to them.
   */
  readonly checksums?: readonly number[];
  /** Headers that need the CRC-32 of all that. */
  readonly finish?: (checksums: readonly number[]) => readonly FileHeader[];
  /** Where the file is one in a folder. */
  readonly folder?: FolderLayout;
}

/** A file that results go to; made by `npy`, `npz`, `safetensors`, `zarr` and `raw`. */
export interface Sink {
  readonly format: 'npy' | 'npz' | 'safetensors' | 'zarr' | 'raw';
  /** Absolute. */
  readonly path: string;
  /**
   * Lays out the file for some arrays. Throws a DTypeError or ArgumentError for what the format cannot hold.
   */
  layout(arrays: readonly ArrayType[]): FileLayout;
  /** The order that elements are wanted in. */
  readonly order: Order;
}

/** Options of `npy` and `npz`. */
export interface NpyOptions {
  /** `'C'` (the default): the last axis is contiguous in the file; `'F'`: the first is. */
  readonly order?: Order | undefined;
  /** The host's where none is given. */
  readonly byteOrder?: ByteOrder | undefined;
}

export const NPY_OPTIONS = ['order', 'byteOrder'];

interface Layouting {
  readonly order: Order;
  readonly byteOrder: ByteOrder;
}

function layouting(op: string, options: NpyOptions | undefined): Layouting {
  checkOptions(op, options, NPY_OPTIONS);
  return {
    order: oneOf(op, 'an order', ['C', 'F'], options?.order ?? 'C'),
    byteOrder: oneOf(op, 'a byte order', ['little', 'big'], options?.byteOrder ?? HOST_BYTE_ORDER),
  };
}

/**
 * One array as a `.npy` file, version 1. There is no bfloat16 in NumPy: that dtype is refused at compute.
 *
 * @example
 * await lazy([1, 2, 3]).compute({ to: npy('x.npy') })
 * //=> Lazy float64 (3,)
 */
export function npy(path: FilePath, options?: NpyOptions): Sink;
export function npy(path: FilePath, options?: NpyOptions, ...more: readonly unknown[]): Sink {
  return called(npy, () => {
    refuseMore('npy', 2, [path, options, ...more]);
    const how = layouting('npy', options);
    return {
      format: 'npy',
      path: pathOf('npy', path),
      order: how.order,
      layout: (arrays) => {
        const array = onlyOne('npy', arrays);
        const header = headerOf('npy', array, how);
        return single(array, how, header);
      },
    };
  });
}

/**
 * One array as its elements alone.
 *
 * @example
 * await lazy([1, 2, 3]).compute({ to: raw('x.raw') })
 * //=> Lazy float64 (3,)
 */
export function raw(path: FilePath, options?: NpyOptions): Sink;
export function raw(path: FilePath, options?: NpyOptions, ...more: readonly unknown[]): Sink {
  return called(raw, () => {
    refuseMore('raw', 2, [path, options, ...more]);
    const how = layouting('raw', options);
    return {
      format: 'raw',
      path: pathOf('raw', path),
      order: how.order,
      layout: (arrays) => single(onlyOne('raw', arrays), how, undefined),
    };
  });
}

/**
 * Several arrays as a `.npz` archive, uncompressed, so that they can be read in place. Without names they are
 * `arr_0`, `arr_1` … as NumPy names them.
 *
 * @example
 * const x = lazy([1, 2, 3])
 * const [mean, deviation] = await compute([x.mean(), x.std()], { to: npz('moments.npz', ['mean', 'std']) })
 * await mean.compute()
 * //=> 2.0
 */
export function npz(path: FilePath, names?: readonly string[], options?: NpyOptions): Sink;
export function npz(
  path: FilePath,
  names?: readonly string[],
  options?: NpyOptions,
  ...more: readonly unknown[]
): Sink {
  return called(npz, () => {
    refuseMore('npz', 3, [path, names, options, ...more]);
    const how = layouting('npz', options);
    const given = names === undefined ? undefined : checkNames('npz', names);
    return {
      format: 'npz',
      path: pathOf('npz', path),
      order: how.order,
      layout: (arrays) => npzLayout(arrays, given ?? arrays.map((_, k) => `arr_${k}`), how),
    };
  });
}

/** Options of `safetensors`. */
export interface SafetensorsOptions {
  /** Texts to keep beside the arrays. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/**
 * Several arrays as a safetensors file. It has no complex128: that dtype is refused at compute.
 *
 * @example
 * const [weight] = await compute([ones([2, 2])], { to: safetensors('model.safetensors', ['weight']) })
 * weight
 * //=> Lazy float64 (2, 2)
 */
export function safetensors(path: FilePath, names: readonly string[], options?: SafetensorsOptions): Sink;
export function safetensors(
  path: FilePath,
  names: readonly string[],
  options?: SafetensorsOptions,
  ...more: readonly unknown[]
): Sink {
  return called(safetensors, () => {
    refuseMore('safetensors', 3, [path, names, options, ...more]);
    checkOptions('safetensors', options, ['metadata']);
    const given = checkNames('safetensors', names);
    if (given.includes('__metadata__')) {
      throw new ArgumentError(expected('safetensors', 'another name', '__metadata__'));
    }
    const metadata = checkMetadata(options?.metadata);
    return {
      format: 'safetensors',
      path: pathOf('safetensors', path),
      order: 'C',
      layout: (arrays) => safetensorsLayout(arrays, given, metadata),
    };
  });
}

/**
 * One array as the folder of a Zarr array, version 3: uncompressed, its chunks some rows of about 4 MiB, all
 * in one shard. A folder of a Zarr array that had the name before is replaced. There is no bfloat16 in Zarr:
 * that dtype is refused at compute.
 *
 * @example
 * await lazy([1, 2, 3]).compute({ to: zarr('x.zarr') })
 * //=> Lazy float64 (3,)
 */
export function zarr(path: FilePath): Sink;
export function zarr(path: FilePath, ...more: readonly unknown[]): Sink {
  return called(zarr, () => {
    refuseMore('zarr', 1, [path, ...more]);
    return {
      format: 'zarr',
      path: pathOf('zarr', path),
      order: 'C',
      layout: (arrays) => {
        const { dtype, shape } = onlyOne('zarr', arrays);
        if (dtype === 'bfloat16')
          throw new DTypeError(expected('zarr', 'a dtype that Zarr has', dtype, "x.astype('float32')"));
        return zarrLayout(dtype, shape);
      },
    };
  });
}

function checkMetadata(metadata: unknown): Readonly<Record<string, string>> | undefined {
  if (metadata === undefined) return undefined;
  const texts = typeof metadata === 'object' && metadata !== null ? Object.values(metadata) : [null];
  if (!texts.every((text) => typeof text === 'string')) {
    throw new ArgumentError(expected('safetensors', 'metadata of texts', 'other values'));
  }
  return { ...(metadata as Record<string, string>) };
}

/** The most bytes that a name has in a zip archive, less than those of `.npy`. */
const MAX_NAME = 0xffff - 4;

/** Whether UTF-8 holds a name as it is, and short enough. */
const isName = (name: unknown): name is string => {
  if (typeof name !== 'string' || name === '') return false;
  const bytes = Buffer.from(name);
  return bytes.length <= MAX_NAME && bytes.toString() === name;
};

function checkNames(op: string, names: unknown): readonly string[] {
  if (!Array.isArray(names) || !names.every(isName)) {
    throw new ArgumentError(expected(op, 'names as a list of texts', formatValue(names)));
  }
  if (new Set(names).size < names.length)
    throw new ArgumentError(expected(op, 'each name once', names.join(', ')));
  return [...names];
}

function onlyOne(op: string, arrays: readonly ArrayType[]): ArrayType {
  const [array, ...others] = arrays;
  if (array !== undefined && others.length === 0) return array;
  throw new ArgumentError(expected(op, 'one array', `${arrays.length}`, 'npz and safetensors hold several'));
}

function named(op: string, arrays: readonly ArrayType[], names: readonly string[]): void {
  if (arrays.length !== names.length) {
    throw new ArgumentError(
      expected(op, `a name for each of ${arrays.length} arrays`, `${names.length} names`),
    );
  }
}

function headerOf(op: string, { dtype, shape }: ArrayType, { order, byteOrder }: Layouting): Buffer {
  const descr = npyDescr(dtype, byteOrder);
  if (descr === undefined) {
    throw new DTypeError(
      expected(op, 'a dtype that NumPy has', dtype, "x.astype('float32'), or a safetensors file"),
    );
  }
  return npyHeader(descr, shape, order);
}

function single(array: ArrayType, how: Layouting, header: Buffer | undefined): FileLayout {
  const layout = { ...array, ...how, byteOffset: header?.length ?? 0 };
  return {
    arrays: [layout],
    byteLength: layout.byteOffset + bytesOf(layout),
    headers: header === undefined ? [] : [{ byteOffset: 0, bytes: header }],
  };
}

/** An archive in which lines of uint8 of some names are texts, as SciPy's sparse matrices have one. */
export function npzWithTexts(path: string, names: readonly string[], texts: readonly string[]): Sink {
  const how = layouting('npz', undefined);
  return { format: 'npz', path, order: how.order, layout: (arrays) => npzLayout(arrays, names, how, texts) };
}

function npzLayout(
  arrays: readonly ArrayType[],
  names: readonly string[],
  how: Layouting,
  texts: readonly string[] = [],
): FileLayout {
  named('npz', arrays, names);
  const headers = arrays.map((array, k) =>
    texts.includes(names[k]!)
      ? npyHeader(textDescr(array.shape[0]!), [], how.order)
      : headerOf('npz', array, how),
  );
  const zip = layoutZip(
    arrays.map((array, k) => ({ name: `${names[k]}.npy`, byteLength: headers[k]!.length + bytesOf(array) })),
  );
  return {
    arrays: arrays.map((array, k) => ({
      ...array,
      ...how,
      byteOffset: zip.starts[k]! + headers[k]!.length,
    })),
    byteLength: zip.byteLength,
    headers: headers.map((bytes, k) => ({ byteOffset: zip.starts[k]!, bytes })),
    checksums: headers.map((header) => crc32(header)),
    finish: zip.headers,
  };
}

function safetensorsLayout(
  arrays: readonly ArrayType[],
  names: readonly string[],
  metadata: Readonly<Record<string, string>> | undefined,
): FileLayout {
  named('safetensors', arrays, names);
  for (const { dtype } of arrays) {
    if (safetensorsName(dtype) === undefined) {
      throw new DTypeError(expected('safetensors', 'a dtype that the format has', dtype));
    }
  }
  const byName = new Map(arrays.map((array, k) => [names[k]!, array]));
  const { header, offsets } = safetensorsHeader(byName, metadata);
  const placed = arrays.map(
    (array, k): ArrayLayout => ({
      ...array,
      order: 'C',
      byteOrder: 'little',
      byteOffset: header.length + offsets.get(names[k]!)!,
    }),
  );
  const end = placed.reduce(
    (most, layout) => Math.max(most, layout.byteOffset + bytesOf(layout)),
    header.length,
  );
  return { arrays: placed, byteLength: end, headers: [{ byteOffset: 0, bytes: header }] };
}

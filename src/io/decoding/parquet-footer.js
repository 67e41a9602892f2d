/**
 * The footer of a Parquet file: its columns and where their parts lie, every length checked against the file.
 *
 * Format: parquet.thrift in github.com/apache/parquet-format. Called by `parquet.js`.
 */
import { refuse } from './refusal.js';
import { ThriftReader } from './thrift.js';

/**
 * @typedef {import('./thrift.js').Struct} Struct
 * @typedef {import('./worker.js').Context} Context
 */

/**
 * A column at the top of the schema. `type` is that of the values in the file, undefined for lists and
 * structures; `logical` is their meaning, where the schema says one.
 * @typedef {{ name: string, type: string | undefined, logical: string | undefined, repetition: number }} Column
 */

/**
 * A column's part in a group of rows.
 * @typedef {{ rows: number, codec: number, start: number, length: number }} Chunk
 * @typedef {{ rows: number[], columns: Column[], chunks: Chunk[][] }} Footer `chunks`: by column, then by group
 */

const TYPES = ['BOOLEAN', 'INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE', 'BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY'];
const CONVERTED = [
  ['UTF8', 'MAP', 'MAP_KEY_VALUE', 'LIST', 'ENUM', 'DECIMAL', 'DATE', 'TIME_MILLIS', 'TIME_MICROS'],
  ['TIMESTAMP_MILLIS', 'TIMESTAMP_MICROS', 'UINT_8', 'UINT_16', 'UINT_32', 'UINT_64', 'INT_8', 'INT_16'],
  ['INT_32', 'INT_64', 'JSON', 'BSON', 'INTERVAL'],
].flat();

/** The fields of LogicalType for decimals and for integers. */
const DECIMAL = 5;
const INTEGER = 10;

/** @param {unknown} value @returns {value is Struct} */
const isStruct = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

/** @param {unknown} value @param {string} what @returns {Struct} */
const structOf = (value, what) => (isStruct(value) ? value : refuse(what, 'none'));

/** @param {unknown} value @param {string} what @returns {Struct[]} */
const structsOf = (value, what) =>
  Array.isArray(value) && value.every(isStruct) ? value : refuse(what, 'none');

/** @param {unknown} value @param {string} what */
function countOf(value, what) {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  return refuse(what, value === undefined ? 'none' : String(value));
}

/** @param {unknown} value */
const textOf = (value) =>
  value instanceof Uint8Array ? new TextDecoder().decode(value) : refuse('a name of a column', 'none');

/**
 * `names`: of the columns whose parts are looked for; without them, of all.
 * @param {Context} context
 * @param {readonly string[] | undefined} names
 * @returns {Promise<Footer>}
 */
export async function readFooter(context, names) {
  const end = await context.read({ offset: -8, length: 8 });
  if (end === undefined) return refuse('a Parquet file', 'none');
  const magic = String.fromCharCode(...end.bytes.subarray(4));
  if (magic !== 'PAR1')
    return refuse('a Parquet file', magic === 'PARE' ? 'an encrypted one' : 'other contents');
  const length = new DataView(end.bytes.buffer).getUint32(0, true);
  if (length + 12 > end.byteLength)
    return refuse(`a footer of ${length} bytes`, `a file of ${end.byteLength}`);
  const footer = await context.read({ offset: end.byteLength - 8 - length, length });
  const fields = new ThriftReader(/** @type {Uint8Array} */ (footer?.bytes)).struct();
  if (fields[8] !== undefined) refuse('a Parquet file that is not encrypted', 'one that is');
  return footerOf(fields, names, end.byteLength - 8 - length);
}

/**
 * @param {Struct} fields @param {readonly string[] | undefined} names @param {number} dataEnd @returns
 * {Footer}
 */
function footerOf(fields, names, dataEnd) {
  const columns = columnsOf(structsOf(fields[2], 'a schema'));
  const groups = structsOf(fields[4] ?? [], 'groups of rows');
  const rows = groups.map((group, k) => countOf(group[3], `the rows of group ${k}`));
  const all = rows.reduce((sum, count) => sum + count, 0);
  if (all !== countOf(fields[3], 'the number of rows')) refuse(`${fields[3]} rows in all groups`, `${all}`);
  const chunks = columns.map(({ column, leaf }) => {
    if (leaf === undefined || names?.includes(column.name) === false) return [];
    return groups.map((group, k) => {
      const chunk = chunkOf(group, leaf, column, dataEnd, `column ${column.name} in group ${k}`);
      return chunk.rows === rows[k] ? chunk : refuse(`${rows[k]} values of ${column.name}`, `${chunk.rows}`);
    });
  });
  return { rows, columns: columns.map(({ column }) => column), chunks };
}

/**
 * The columns at the top of the schema, a tree that is written from its root on; `leaf`: which of the leaves
 * one is.
 * @param {Struct[]} schema
 */
function columnsOf(schema) {
  /** @type {{ column: Column, leaf: number | undefined }[]} */
  const columns = [];
  /** Elements that are still to come of the structures that are open, the root first. */
  const open = [countOf(schema[0]?.[5] ?? 0, 'the columns of the schema')];
  let leaves = 0;
  for (const element of schema.slice(1)) {
    while (open.length > 1 && open.at(-1) === 0) open.pop();
    if (open.at(-1) === 0) refuse('a schema of one tree', 'more elements');
    open.push(/** @type {number} */ (open.pop()) - 1);
    const isTop = open.length === 1;
    const children = element[5] === undefined ? 0 : countOf(element[5], 'the elements of a structure');
    const isLeaf = children === 0;
    if (isTop) columns.push({ column: columnOf(element, isLeaf), leaf: isLeaf ? leaves : undefined });
    if (isLeaf) leaves++;
    else open.push(children);
  }
  if (open.some((count) => count > 0)) refuse('all elements of the schema', 'fewer');
  return columns;
}

/** @param {Struct} element @param {boolean} isLeaf @returns {Column} */
function columnOf(element, isLeaf) {
  const { 1: type, 3: repetition, 4: name, 6: converted, 10: logical } = element;
  return {
    name: textOf(name),
    type: isLeaf && repetition !== 2 ? (TYPES[Number(type)] ?? `type ${type}`) : undefined,
    logical:
      converted === undefined ? logicalOf(logical) : (CONVERTED[Number(converted)] ?? `type ${converted}`),
    repetition: Number(repetition ?? 0),
  };
}

/** @param {unknown} logical */
function logicalOf(logical) {
  if (!isStruct(logical)) return undefined;
  if (logical[DECIMAL] !== undefined) return 'DECIMAL';
  const integer = logical[INTEGER];
  return isStruct(integer) ? `${integer[2] === true ? 'INT' : 'UINT'}_${integer[1]}` : undefined;
}

/**
 * @param {Struct} group
 * @param {number} leaf
 * @param {Column} column
 * @param {number} dataEnd where the footer begins
 * @param {string} about
 * @returns {Chunk}
 */
function chunkOf(group, leaf, column, dataEnd, about) {
  const chunk = structOf(structsOf(group[1], about)[leaf], about);
  if (chunk[1] !== undefined) refuse(`${about} in this file`, 'in another one');
  const meta = structOf(chunk[3], about);
  const path = Array.isArray(meta[3]) ? meta[3] : [];
  if (path.length !== 1 || textOf(path[0]) !== column.name) refuse(about, 'another column');
  const type = TYPES[Number(meta[1])];
  if (column.type !== undefined && type !== column.type) refuse(`${about} of ${column.type}`, `${type}`);
  const rows = countOf(meta[5], `the number of values of ${about}`);
  const data = countOf(meta[9], `where ${about} begins`);
  const dictionary = meta[11] === undefined ? data : countOf(meta[11], `where ${about} begins`);
  // Some writers say 0 where there is no dictionary.
  const start = dictionary === 0 ? data : Math.min(data, dictionary);
  const length = countOf(meta[7], `the length of ${about}`);
  if (start + length > dataEnd)
    refuse(`${about} before byte ${dataEnd}`, `bytes ${start} to ${start + length}`);
  return { rows, codec: Number(meta[4]), start, length };
}

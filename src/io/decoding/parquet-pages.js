/**
 * The pages of a column's part in a group of rows: their headers, lengths and checksums, and the values in
 * them.
 *
 * Format: parquet.thrift in github.com/apache/parquet-format. Called by `parquet.js`.
 */
import { crc32 } from './crc32.js';
import { byteStreamSplit, deltas, plain, runs } from './parquet-encodings.js';
import { refuse } from './refusal.js';
import { ThriftReader } from './thrift.js';

/**
 * @typedef {import('./parquet-codecs.js').Decompress} Decompress
 * @typedef {import('./parquet-encodings.js').Values} Values
 * @typedef {import('./thrift.js').Struct} Struct
 */

/**
 * `isMissing`: for each row, where any may be missing; then `values` are those of the others.
 * @typedef {{ rows: number, values: Values, isMissing: Uint8Array | undefined }} Page
 */

const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
const DATA_PAGE_V2 = 3;

const PLAIN = 0;
const PLAIN_DICTIONARY = 2;
const RLE = 3;
const DELTA_BINARY_PACKED = 5;
const RLE_DICTIONARY = 8;
const BYTE_STREAM_SPLIT = 9;

/** @param {Struct | undefined} fields @param {number} field @param {string} what */
function countOf(fields, field, what) {
  const value = fields?.[field];
  return typeof value === 'number' && value >= 0 && value < 2 ** 31 ? value : refuse(what, String(value));
}

export class PageReader {
  /** @type {Values | undefined} */
  #dictionary;

  /**
   * @param {Uint8Array} bytes of the part
   * @param {{ type: string, repetition: number }} column
   * @param {Decompress} decompress
   */
  constructor(bytes, column, decompress) {
    this.bytes = bytes;
    this.type = column.type;
    this.isOptional = column.repetition === 1;
    this.decompress = decompress;
    this.at = 0;
  }

  /**
   * The next page of values, which has at most `left` rows.
   * @param {number} left
   * @returns {Page}
   */
  next(left) {
    for (;;) {
      const header = new ThriftReader(this.bytes, this.at);
      const fields = header.struct();
      const body = this.#bodyOf(fields, header.at);
      const inflated = countOf(fields, 2, 'the length of a page');
      switch (fields[1]) {
        case DICTIONARY_PAGE:
          this.#takeDictionary(fields, this.decompress(body, inflated));
          break;
        case DATA_PAGE:
          return this.#page(fields, this.decompress(body, inflated), left);
        case DATA_PAGE_V2:
          return this.#pageV2(fields, body, inflated, left);
        default:
          refuse('a page of values', `type ${fields[1]}`);
      }
    }
  }

  /** @param {Struct} fields @param {number} start */
  #bodyOf(fields, start) {
    const length = countOf(fields, 3, 'the length of a page');
    if (start + length > this.bytes.length)
      refuse(`a page of at most ${this.bytes.length - start} bytes`, `${length}`);
    const body = this.bytes.subarray(start, start + length);
    this.at = start + length;
    if (fields[4] !== undefined) {
      const [wanted, found] = [Number(fields[4]) >>> 0, crc32(body)];
      if (wanted !== found)
        refuse(`the checksum ${wanted.toString(16)} of a page`, found.toString(16), {
          code: 'ERR_FILE_CHECKSUM',
        });
    }
    return body;
  }

  /** @param {Struct} fields @param {Uint8Array} body */
  #takeDictionary(fields, body) {
    const header = /** @type {Struct | undefined} */ (fields[7]);
    const encoding = countOf(header, 2, 'the encoding of a dictionary');
    if (encoding !== PLAIN && encoding !== PLAIN_DICTIONARY)
      refuse('a plain dictionary', `encoding ${encoding}`);
    this.#dictionary = plain(body, this.type, countOf(header, 1, 'the length of a dictionary'));
  }

  /** @param {Struct} fields @param {Uint8Array} body @param {number} left @returns {Page} */
  #page(fields, body, left) {
    const header = /** @type {Struct | undefined} */ (fields[5]);
    const rows = this.#rowsOf(header, left);
    let values = body;
    /** @type {Uint8Array | undefined} */
    let levels;
    if (this.isOptional) {
      if (countOf(header, 3, 'the encoding of levels') !== RLE)
        refuse('levels in runs', `encoding ${header?.[3]}`);
      const length = lengthOf(body);
      levels = body.subarray(4, 4 + length);
      values = body.subarray(4 + length);
    }
    return this.#valuesOf(rows, levels, values, countOf(header, 2, 'an encoding'));
  }

  /**
   * @param {Struct} fields @param {Uint8Array} body @param {number} inflated @param {number} left @returns
   * {Page}
   */
  #pageV2(fields, body, inflated, left) {
    const header = /** @type {Struct | undefined} */ (fields[8]);
    const rows = this.#rowsOf(header, left);
    if (countOf(header, 3, 'the rows of a page') !== rows) refuse(`${rows} rows of a page`, `${header?.[3]}`);
    if (countOf(header, 6, 'the length of levels') !== 0) refuse('no lists', 'levels of them');
    const length = countOf(header, 5, 'the length of levels');
    if (length > body.length || length > inflated)
      refuse(`levels of at most ${body.length} bytes`, `${length}`);
    const packed = body.subarray(length);
    const values = header?.[7] === false ? packed : this.decompress(packed, inflated - length);
    const levels = this.isOptional ? body.subarray(0, length) : undefined;
    const page = this.#valuesOf(rows, levels, values, countOf(header, 4, 'an encoding'));
    const missing = countOf(header, 2, 'the number of missing values');
    if (rows - page.values.length !== missing)
      refuse(`${missing} missing values`, `${rows - page.values.length}`);
    return page;
  }

  /** @param {Struct | undefined} header @param {number} left */
  #rowsOf(header, left) {
    const rows = countOf(header, 1, 'the number of values of a page');
    return rows > 0 && rows <= left ? rows : refuse(`a page of 1 to ${left} values`, `${rows}`);
  }

  /**
   * @param {number} rows
   * @param {Uint8Array | undefined} levels
   * @param {Uint8Array} bytes
   * @param {number} encoding
   * @returns {Page}
   */
  #valuesOf(rows, levels, bytes, encoding) {
    if (levels === undefined)
      return { rows, values: this.#decode(bytes, rows, encoding), isMissing: undefined };
    const isMissing = new Uint8Array(rows);
    let missing = 0;
    for (const [row, level] of runs(levels, 1, rows).entries()) {
      isMissing[row] = level ^ 1;
      missing += level ^ 1;
    }
    const values = this.#decode(bytes, rows - missing, encoding);
    return { rows, values, isMissing: missing === 0 ? undefined : isMissing };
  }

  /** @param {Uint8Array} bytes @param {number} count @param {number} encoding @returns {Values} */
  #decode(bytes, count, encoding) {
    switch (encoding) {
      case PLAIN:
        return plain(bytes, this.type, count);
      case PLAIN_DICTIONARY:
      case RLE_DICTIONARY:
        return this.#fromDictionary(bytes, count);
      case RLE:
        if (this.type !== 'BOOLEAN') return refuse('booleans in runs', this.type);
        return Uint8Array.from(runs(bytes.subarray(4, 4 + lengthOf(bytes)), 1, count));
      case DELTA_BINARY_PACKED:
        return deltas(bytes, this.type, count);
      case BYTE_STREAM_SPLIT:
        return byteStreamSplit(bytes, this.type, count);
      default:
        return refuse('an encoding of numbers', `${encoding}`);
    }
  }

  /** @param {Uint8Array} bytes @param {number} count @returns {Values} */
  #fromDictionary(bytes, count) {
    const dictionary = this.#dictionary ?? refuse('a dictionary before its indices', 'none');
    const values = /** @type {new (length: number) => Values} */ (dictionary.constructor);
    const decoded = new values(count);
    if (count === 0) return decoded;
    const width = bytes[0] ?? refuse('the width of indices', 'the end of the page');
    const indices = runs(bytes.subarray(1), width, count);
    for (let k = 0; k < count; k++) {
      const index = /** @type {number} */ (indices[k]);
      if (index >= dictionary.length) refuse(`an index below ${dictionary.length}`, `${index}`);
      decoded[k] = /** @type {never} */ (dictionary[index]);
    }
    return decoded;
  }
}

/** The length that stands before runs. @param {Uint8Array} bytes */
function lengthOf(bytes) {
  if (bytes.length < 4) return refuse('the length of runs', 'the end of the page');
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  return length + 4 <= bytes.length
    ? length
    : refuse(`runs of at most ${bytes.length - 4} bytes`, `${length}`);
}

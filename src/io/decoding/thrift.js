/**
 * Thrift's compact protocol, as far as Parquet's headers need it: structures as objects of fields by number.
 * Every length is checked against the bytes that are left before anything is made of it.
 *
 * Format: thrift-compact-protocol.md in github.com/apache/thrift. Called by `parquet.js`.
 */
import { refuse } from './refusal.js';

const STOP = 0;
const TRUE = 1;
const FALSE = 2;
const BYTE = 3;
const INTEGERS = new Set([4, 5, 6]);
const DOUBLE = 7;
const BINARY = 8;
const LISTS = new Set([9, 10]);
const MAP = 11;
const STRUCT = 12;

/** Parquet's own structures are seven levels deep. */
const MAX_DEPTH = 16;

/**
 * @typedef {{ [field: number]: Value }} Struct
 * @typedef {number | boolean | Uint8Array | undefined | Value[] | { [field: number]: Value }} Value
 */

export class ThriftReader {
  /**
   * @param {Uint8Array} bytes
   * @param {number} [at]
   */
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /**
   * @param {number} [depth]
   * @returns {Struct}
   */
  struct(depth = 0) {
    if (depth > MAX_DEPTH) refuse(`at most ${MAX_DEPTH} structures in each other`, 'more');
    /** @type {Struct} */
    const fields = {};
    for (let field = 0; ; ) {
      const head = this.#byte();
      const type = head & 15;
      if (type === STOP) return fields;
      field = head >> 4 === 0 ? this.#signed() : field + (head >> 4);
      fields[field] = type === TRUE || type === FALSE ? type === TRUE : this.#value(type, depth);
    }
  }

  /**
   * @param {number} type
   * @param {number} depth
   * @returns {Value}
   */
  #value(type, depth) {
    // In a list, a boolean has a byte.
    if (type === TRUE || type === FALSE) return this.#byte() === TRUE;
    if (type === BYTE) return (this.#byte() << 24) >> 24;
    if (INTEGERS.has(type)) return this.#signed();
    if (type === DOUBLE) return this.#skip(8);
    if (type === BINARY) return this.#take(this.#unsigned());
    if (LISTS.has(type)) return this.#list(depth);
    if (type === STRUCT) return this.struct(depth + 1);
    if (type === MAP) return refuse('a header without maps', 'a map');
    return refuse('a type of the compact protocol', `${type}`);
  }

  /**
   * @param {number} depth
   * @returns {Value[]}
   */
  #list(depth) {
    const head = this.#byte();
    const length = head >> 4 === 15 ? this.#unsigned() : head >> 4;
    const left = this.bytes.length - this.at;
    if (length > left) refuse(`at most ${left} elements of a list`, `${length}`);
    if (depth > MAX_DEPTH) refuse(`at most ${MAX_DEPTH} lists in each other`, 'more');
    /** @type {Value[]} */
    const list = [];
    for (let k = 0; k < length; k++) list.push(this.#value(head & 15, depth + 1));
    return list;
  }

  #byte() {
    const byte = this.bytes[this.at++];
    return byte === undefined ? refuse('a header', 'the end of its bytes') : byte;
  }

  /** @param {number} length */
  #take(length) {
    const left = this.bytes.length - this.at;
    if (length > left) refuse(`at most ${left} bytes of text`, `${length}`);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** @param {number} length */
  #skip(length) {
    this.#take(length);
    return undefined;
  }

  /** Exact below 2^53; what is greater is no length of anything. */
  #unsigned() {
    return Number(this.#varint());
  }

  #signed() {
    const value = this.#varint();
    return Number((value >> 1n) ^ -(value & 1n));
  }

  #varint() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    return refuse('an integer of at most 64 bits', 'a longer one');
  }
}

/**
 * Records: lists of integers one behind the other, of which equal ones are found, and which are distinguished from
 * others as a whole by a fingerprint. The contents of a record, and that none is a prefix of another,
 * is the callers' business: `node-table.ts` writes nodes, `graph-building.ts` what stands beside them.
 */
import { createHash } from 'node:crypto';
import type { Scalar } from '../../graph/dtype.js';
import { mix, numberOf } from './hash.js';

/** A number of more than 32 bits stands as this and the two halves of a double. */
const WIDE = -0x80000000;

const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/** Most bytes that are a fingerprint as they stand; more are hashed. */
const MOST_AS_TEXT = 4096;

/** Words that records begin with. */
const FEW_WORDS = 512;
/**
 * Memory of that size which others have left: small graphs are often asked for, and memory takes long to
 * make.
 */
let spare: Int32Array<ArrayBuffer> | undefined;

/** A fingerprint that is a text as it stands, and its words. */
interface KnownText {
  readonly words: Int32Array;
  readonly text: string;
}

/**
 * Such fingerprints that were asked for last, by the lowest bits of a hash: of the same text the engine keeps its own hash, so that
 * what has it for a name is found without a look at its characters. They are 1 MiB at most.
 */
const knownTexts = new Array<KnownText | undefined>(256).fill(undefined);

function isSameText(known: Int32Array, words: Int32Array, count: number): boolean {
  if (known.length !== count) return false;
  for (let k = 0; k < count; k++) if (known[k] !== words[k]) return false;
  return true;
}

/** The last record may be open. Numbers that stand for names are this process' own. */
export class Records {
  #words = spare ?? new Int32Array(FEW_WORDS);
  /** Where each record starts that is kept. */
  readonly #starts: number[] = [];
  /** Where the open record starts, and where it ends by now. */
  #start = 0;
  #end = 0;

  constructor() {
    spare = undefined;
  }

  open(): void {
    this.#start = this.#end;
  }

  keep(): void {
    this.#starts.push(this.#start);
  }

  drop(): void {
    this.#end = this.#start;
  }

  /** Of the open record; 30 bits. */
  hash(): number {
    const words = this.#words;
    let hash = 0;
    for (let k = this.#start; k < this.#end; k++) hash = mix(hash, words[k]!);
    return hash & 0x3fffffff;
  }

  /**
   * Whether the open record is equal to one that was kept. None is the beginning of another: where it ends
   * needs no look.
   */
  repeats(record: number): boolean {
    const words = this.#words;
    const shift = this.#starts[record]! - this.#start;
    for (let k = this.#start; k < this.#end; k++) if (words[k] !== words[k + shift]) return false;
    return true;
  }

  put(word: number): void {
    if (this.#end === this.#words.length) this.#grow();
    this.#words[this.#end++] = word;
  }

  #grow(): void {
    const words = new Int32Array(4 * this.#words.length);
    words.set(this.#words);
    this.#words = words;
  }

  /** Any number but -0, which counts as 0. */
  putNumber(value: number): void {
    if ((value | 0) === value && value !== WIDE) this.put(value);
    else this.#putDouble(value);
  }

  #putDouble(value: number): void {
    double[0] = Number.isNaN(value) ? Number.NaN : value; // of the many NaNs, one
    this.put(WIDE);
    this.put(halves[0]!);
    this.put(halves[1]!);
  }

  putAll(values: readonly number[]): void {
    this.put(values.length);
    for (let k = 0; k < values.length; k++) this.putNumber(values[k]!);
  }

  /** Zeros of either sign differ, and a NaN is itself. */
  putScalar(value: Scalar): void {
    this.put(numberOf(typeof value));
    switch (typeof value) {
      case 'number':
        this.#putDouble(value);
        break;
      case 'bigint':
        this.put(Number(BigInt.asIntN(32, value)));
        this.put(Number(BigInt.asIntN(32, value >> 32n)));
        break;
      case 'boolean':
        this.put(value ? 1 : 0);
        break;
      default:
        this.#putDouble(value.re);
        this.#putDouble(value.im);
    }
  }

  putText(text: string): void {
    this.put(text.length);
    for (let k = 0; k < text.length; k++) this.put(text.charCodeAt(k));
  }

  /**
   * A text that differs where what was written does. The last that is asked of records: others may have their
   * memory.
   */
  fingerprint(): string {
    const words = this.#words;
    if (words.length > FEW_WORDS) return this.#text();
    this.#start = 0;
    const at = this.hash() & (knownTexts.length - 1);
    let known = knownTexts[at];
    if (known === undefined || !isSameText(known.words, words, this.#end)) {
      known = { words: words.slice(0, this.#end), text: this.#text() };
      knownTexts[at] = known;
    }
    spare = words;
    return known.text;
  }

  #text(): string {
    const bytes = Buffer.from(this.#words.buffer, 0, this.#end * Int32Array.BYTES_PER_ELEMENT);
    return bytes.length <= MOST_AS_TEXT
      ? bytes.toString('latin1')
      : createHash('sha256').update(bytes).digest('hex');
  }
}

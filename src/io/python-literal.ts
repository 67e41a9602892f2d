/**
 * Python literals, as the header of a .npy file holds one: dicts, tuples, lists, strings, integers, True,
 * False, None.
 *
 * A parser of exactly that: nothing is evaluated, depth is limited, and anything else is refused. Called by
 * `npy.ts`.
 */

/** A list is an array, a dict a map. */
export type PythonLiteral =
  | string
  | bigint
  | boolean
  | null
  | PythonTuple
  | readonly PythonLiteral[]
  | ReadonlyMap<string, PythonLiteral>;

export class PythonTuple {
  constructor(readonly items: readonly PythonLiteral[]) {}
}

/** The mistake in a text, and its position. */
export class LiteralError extends Error {
  override name = 'LiteralError';
}

const MAX_DEPTH = 16;
/** Digits of the largest integer that is read; sizes have at most 20. */
const MAX_DIGITS = 32;
const WORDS = new Map<string, PythonLiteral>([
  ['True', true],
  ['False', false],
  ['None', null],
]);
const ESCAPES = new Map([
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** The value of a literal that is the whole text. Throws a LiteralError. */
export function parsePythonLiteral(text: string): PythonLiteral {
  const parser = new Parser(text);
  const value = parser.value(0);
  parser.end();
  return value;
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): PythonLiteral {
    if (depth > MAX_DEPTH) this.#fail(`at most ${MAX_DEPTH} levels`);
    const next = this.#peek();
    switch (next) {
      case '{':
        return this.#dict(depth);
      case '(':
        return this.#parenthesized(depth);
      case '[':
        return this.#items(']', depth).items;
      case "'":
      case '"':
        return this.#string(next);
      default:
        return this.#number() ?? this.#word();
    }
  }

  end(): void {
    if (this.#peek() !== '') this.#fail('the end of the header');
  }

  #fail(what: string): never {
    const found = this.#text.slice(this.#at, this.#at + 12);
    throw new LiteralError(`${what} at ${this.#at}: ${found === '' ? 'the end' : JSON.stringify(found)}`);
  }

  /** The next character that is no white space; '' at the end. */
  #peek(): string {
    while (' \t\n\r\f'.includes(this.#text[this.#at] ?? 'x')) this.#at++;
    return this.#text[this.#at] ?? '';
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #items(close: string, depth: number): { readonly items: PythonLiteral[]; readonly comma: boolean } {
    this.#at++;
    const items: PythonLiteral[] = [];
    let comma = false;
    while (!this.#take(close)) {
      if (items.length > 0 && !comma) this.#fail(`"," or "${close}"`);
      items.push(this.value(depth + 1));
      comma = this.#take(',');
    }
    return { items, comma };
  }

  /** `(3)` is 3, `(3,)` a tuple. */
  #parenthesized(depth: number): PythonLiteral {
    const { items, comma } = this.#items(')', depth);
    return items.length === 1 && !comma ? items[0]! : new PythonTuple(items);
  }

  #dict(depth: number): PythonLiteral {
    this.#at++;
    const entries = new Map<string, PythonLiteral>();
    let comma = true;
    while (!this.#take('}')) {
      if (!comma) this.#fail('"," or "}"');
      const key = this.value(depth + 1);
      if (typeof key !== 'string') this.#fail('a string as a key');
      if (entries.has(key)) this.#fail(`the key '${key}' once`);
      if (!this.#take(':')) this.#fail('":"');
      entries.set(key, this.value(depth + 1));
      comma = this.#take(',');
    }
    return entries;
  }

  #string(quote: string): string {
    let value = '';
    for (this.#at++; ; this.#at++) {
      const character = this.#text[this.#at];
      if (character === undefined || character === '\n') return this.#fail('the end of a string');
      if (character === quote) break;
      if (character !== '\\') {
        value += character;
        continue;
      }
      const escaped = ESCAPES.get(this.#text[++this.#at] ?? '');
      if (escaped === undefined) return this.#fail('a known escape');
      value += escaped;
    }
    this.#at++;
    return value;
  }

  /** An integer; Python 2 wrote `3L`. */
  #number(): bigint | undefined {
    const match = /^([+-]?\d+)L?(?![\w.])/.exec(this.#text.slice(this.#at, this.#at + MAX_DIGITS + 3));
    if (match === null) return undefined;
    if (match[1]!.length > MAX_DIGITS) this.#fail(`an integer of at most ${MAX_DIGITS} digits`);
    this.#at += match[0].length;
    return BigInt(match[1]!);
  }

  #word(): PythonLiteral {
    const word = /^[A-Za-z_]\w{0,31}/.exec(this.#text.slice(this.#at, this.#at + 32))?.[0] ?? '';
    const value = WORDS.get(word);
    if (value === undefined) return this.#fail('a number, text, tuple, list, dict, True, False or None');
    this.#at += word.length;
    return value;
  }
}
